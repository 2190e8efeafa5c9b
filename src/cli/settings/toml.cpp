#include "cli/settings/toml.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/integer.hpp"
#include "base/words.hpp"

namespace rlock::cli {
namespace {

constexpr std::string_view k_digits = "0123456789";
constexpr std::string_view k_bare_key =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

// Appends the character with the number `c` as UTF-8, or returns false if there is none, or NUL.
bool append_utf8(std::string& text, std::uint32_t c) {
  if (c == 0 || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return false;
  // A path converts numbers of characters to UTF-8, in every locale.
  text += std::filesystem::path(std::u32string(1, c)).string();
  return true;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::vector<TomlEntry> read() {
    std::vector<TomlEntry> entries;
    std::map<std::string, std::size_t> lines;  // of the keys so far
    take("\xEF\xBB\xBF");                      // a mark that some editors put at the start
    check_bytes();
    for (skip_to_entry(); !rest_.empty(); skip_to_entry()) {
      if (next() == '[') fail("tables are not supported; write settings as: redis = \"...\"");
      TomlEntry entry = read_entry();
      const auto [other, is_new] = lines.emplace(entry.key, entry.line);
      if (!is_new) {
        fail("'" + quote_input(entry.key) + "' is set a second time, after line " +
             std::to_string(other->second));
      }
      entries.push_back(std::move(entry));
      end_line();
    }
    return entries;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ExitStatus::config, "line " + std::to_string(line_) + ": " + why);
  }

  // Fails at the first byte that no text has.
  void check_bytes() {
    for (std::string_view line : split(rest_, '\n')) {
      if (line.ends_with('\r')) line.remove_suffix(1);
      const bool has_control = std::ranges::any_of(line, [](char c) {
        return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
      });
      if (has_control || to_utf8(line) != line) fail("is not UTF-8 text");
      ++line_;
    }
    line_ = 1;
  }

  [[nodiscard]] char next() const { return rest_.empty() ? '\n' : rest_.front(); }

  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  // Takes what stands before `end`, or everything if that is npos.
  std::string_view take_before(std::size_t end) {
    const std::string_view taken = rest_.substr(0, end);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view take_word() { return take_before(rest_.find_first_of(" \t\r\n#,]")); }

  void skip_blanks() { take_before(rest_.find_first_not_of(" \t")); }

  [[nodiscard]] bool is_at_text() const { return next() == '"' || next() == '\''; }

  // Skips blanks and a comment, then the end of the line. Returns whether it was there.
  bool skip_line_end() {
    skip_blanks();
    if (next() == '#') take_before(rest_.find('\n'));
    if (!take("\r\n") && !take("\n")) return false;
    ++line_;
    return true;
  }

  void skip_to_entry() {
    while (skip_line_end()) {
    }
  }

  void end_line() {
    if (!skip_line_end() && !rest_.empty()) {
      fail("unexpected text after the value; strings are written in quotes");
    }
  }

  TomlEntry read_entry() {
    TomlEntry entry;
    entry.line = line_;
    entry.key = read_key();
    while (take(".")) entry.key += "." + read_key();
    if (!take("=")) fail("expected a setting: name = \"value\"");
    skip_blanks();
    read_value(entry);
    return entry;
  }

  std::string read_key() {
    skip_blanks();
    std::string key =
        is_at_text() ? read_text() : std::string(take_before(rest_.find_first_not_of(k_bare_key)));
    if (key.empty()) fail("expected a setting: name = \"value\"");
    skip_blanks();
    return key;
  }

  void read_value(TomlEntry& entry) {
    using Type = TomlEntry::Type;
    if (is_at_text()) {
      entry.type = Type::text;
      entry.values = {read_text()};
    } else if (take("[")) {
      read_list(entry);
    } else {
      const std::string_view word = take_word();
      entry.type = is_number(word) ? Type::number : Type::other;
      entry.values = {entry.type == Type::number ? std::string(word) : describe(word)};
      // The rest of it says nothing.
      if (entry.type == Type::other) take_before(rest_.find_first_of("\r\n"));
    }
  }

  static bool is_number(std::string_view word) {
    return word.find_first_not_of("0123456789.") == std::string_view::npos &&
           std::ranges::count(word, '.') <= 1 && !word.empty() && !word.starts_with('.') &&
           !word.ends_with('.');
  }

  // Says what the value is that `word` begins; fails if it is none.
  [[nodiscard]] std::string describe(std::string_view word) const {
    if (word == "true" || word == "false") return "a boolean";
    if (word.starts_with('{')) return "a table";
    const bool is_plain =
        word.find_first_not_of("0123456789abcdefABCDEFTZinox+-._:") == std::string_view::npos;
    if (!word.empty() && is_plain && word.find_first_of(k_digits) <= 1)
      return "another number or a date";
    fail("the value is missing, or a text without quotes: name = \"value\"");
  }

  // Behind the '['. A list that has anything else but texts is `other`.
  void read_list(TomlEntry& entry) {
    entry.type = TomlEntry::Type::list;
    while (true) {
      skip_to_entry();
      if (take("]")) break;
      if (is_at_text()) {
        entry.values.push_back(read_text());
      } else {
        if (next() == '[' || next() == '{') fail("a list can only have texts: [\"...\", \"...\"]");
        const std::string_view word = take_word();
        if (!is_number(word)) (void)describe(word);
        entry.type = TomlEntry::Type::other;
      }
      skip_to_entry();
      if (take("]")) break;
      if (!take(",")) fail("a list needs a comma between its values, and a ']' at its end");
    }
    if (entry.type == TomlEntry::Type::other) entry.values = {"a list of other things than texts"};
  }

  std::string read_text() {
    if (rest_.starts_with("\"\"\"") || rest_.starts_with("'''")) {
      fail("texts of several lines are unknown here");
    }
    const char quote = next();
    rest_.remove_prefix(1);
    std::string text;
    while (next() != quote) {
      if (next() == '\n' || rest_.starts_with("\r\n")) fail("a text without its closing quote");
      if (quote == '"' && take("\\")) {
        read_escape(text);
      } else {
        text += next();
        rest_.remove_prefix(1);
      }
    }
    rest_.remove_prefix(1);
    return text;
  }

  // Behind the backslash.
  void read_escape(std::string& text) {
    constexpr std::string_view k_letters = "btnfr\"\\";
    constexpr std::string_view k_meanings = "\b\t\n\f\r\"\\";
    const char letter = next();
    if (const std::size_t at = k_letters.find(letter); at != std::string_view::npos) {
      text += k_meanings[at];
      rest_.remove_prefix(1);
      return;
    }
    const std::size_t digits = letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (digits != 0) {
      const std::string_view number = rest_.substr(1, digits);
      const auto value = parse_integer<std::uint32_t>(number, 16);
      if (value && number.size() == digits && append_utf8(text, *value)) {
        rest_.remove_prefix(1 + digits);
        return;
      }
    }
    fail("a bad \\ in a text in double quotes: in single quotes it means itself");
  }

  std::string_view rest_;
  std::size_t line_ = 1;
};

}  // namespace

std::vector<TomlEntry> parse_toml(std::string_view text) { return Reader(text).read(); }

}  // namespace rlock::cli
