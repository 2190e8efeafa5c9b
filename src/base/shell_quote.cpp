#include "base/shell_quote.hpp"

#include <algorithm>

#include "base/escape.hpp"

namespace rlock {
namespace {

bool is_plain(std::string_view word) {
  constexpr std::string_view k_plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-";
  return !word.empty() && word.find_first_not_of(k_plain) == std::string_view::npos;
}

// Returns the text in single quotes, in which `instead` stands for each `c`.
std::string single_quoted(std::string_view text, char c, std::string_view instead) {
  std::string quoted = "'";
  for (const char each : text) {
    quoted += each == c ? instead : std::string_view(&each, 1);
  }
  return quoted + "'";
}

}  // namespace

std::string shell_quote(std::string_view word) {
  if (is_plain(word)) return std::string(word);
  if (word.find('\0') != std::string_view::npos) return std::string(1, '\0');
  if (escape_for_terminal(word) == word) return posix_quote(word);
  // Its backslashes are doubled before others are put in.
  return "$'" + escape_for_terminal(with_backslashes(word, "\\'")) + "'";
}

std::string posix_quote(std::string_view word) { return single_quoted(word, '\'', "'\\''"); }

std::string fish_quote(std::string_view word) {
  return single_quoted(with_backslashes(word, "\\'"), '\n', "'\\n'");
}

std::string shell_operands(const std::vector<std::string_view>& words) {
  const bool is_misread =
      std::ranges::any_of(words, [](auto word) { return word.starts_with('-'); });
  std::string text = is_misread ? "--" : "";
  for (const std::string_view word : words) text += (text.empty() ? "" : " ") + shell_quote(word);
  return text;
}

}  // namespace rlock
