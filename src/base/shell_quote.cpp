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

}  // namespace

std::string shell_quote(std::string_view word) {
  if (is_plain(word)) return std::string(word);
  const bool is_harmless = escape_for_terminal(word) == word;
  if (is_harmless && word.find('\'') == std::string_view::npos)
    return "'" + std::string(word) + "'";
  // Its backslashes are doubled before others are put in.
  return "$'" + escape_for_terminal(with_backslashes(word, "\\'")) + "'";
}

std::string posix_quote(std::string_view word) {
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  return text + "'";
}

std::string fish_quote(std::string_view word) {
  std::string text = "'";
  for (const char c : with_backslashes(word, "\\'")) {
    if (c == '\n') {
      text += "'\\n'";
    } else {
      text += c;
    }
  }
  return text + "'";
}

std::string shell_operands(const std::vector<std::string_view>& words) {
  const bool is_misread =
      std::ranges::any_of(words, [](auto word) { return word.starts_with('-'); });
  std::string text = is_misread ? "--" : "";
  for (const std::string_view word : words) text += (text.empty() ? "" : " ") + shell_quote(word);
  return text;
}

}  // namespace rlock
