#include "base/text_width.hpp"

#include <algorithm>
#include <clocale>
#include <cstdint>
#include <cwchar>
#include <locale.h>

#include "base/words.hpp"

namespace rlock {
namespace {

// The C library knows the widths for the present locale only. While such an object lives, the
// locale is UTF-8, whatever the user's locale is.
class Utf8 {
 public:
  Utf8() : before_(::uselocale(locale())) {}
  Utf8(const Utf8&) = delete;
  Utf8& operator=(const Utf8&) = delete;
  ~Utf8() { ::uselocale(before_); }

 private:
  static locale_t locale() {
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return utf8;  // 0, if there is none, leaves the locale as it is
  }

  locale_t before_;
};

struct Extent {
  std::size_t bytes = 0;
  std::size_t columns = 0;
};

constexpr char k_escape = '\x1b';

// Returns the extent of the first character, or change of colour.
Extent first_of(std::string_view text) {
  if (text[0] == k_escape) return {std::min(text.find('m'), text.size() - 1) + 1, 0};
  wchar_t character = 0;
  std::mbstate_t state{};
  const std::size_t bytes = std::mbrtowc(&character, text.data(), text.size(), &state);
  if (bytes == 0 || bytes > text.size()) return {1, 1};
  const int columns = ::wcwidth(character);
  return {bytes, columns < 0 ? 1 : static_cast<std::size_t>(columns)};
}

// Most texts have a column a byte, and tables have many.
bool is_simple(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c & 0x80) == 0 && c != k_escape; });
}

// Returns the extent of as many characters as fit into `columns`.
Extent measure(std::string_view text, std::size_t columns) {
  const Utf8 utf8;
  Extent all;
  while (all.bytes < text.size()) {
    const Extent character = first_of(text.substr(all.bytes));
    if (all.columns + character.columns > columns) break;
    all.bytes += character.bytes;
    all.columns += character.columns;
  }
  return all;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  return is_simple(text) ? text.size() : measure(text, SIZE_MAX).columns;
}

std::string fit(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  const std::string_view shown = text.substr(0, measure(text, columns - 1).bytes);
  const bool has_color = shown.find(k_escape) != std::string_view::npos;
  return std::string(shown) + "…" + (has_color ? "\x1b[0m" : "");
}

std::string wrap(std::string_view text, std::size_t indent, std::optional<std::size_t> columns) {
  const std::string margin(indent, ' ');
  std::string lines;
  std::string line = margin;
  const auto end_line = [&] {
    lines += (columns ? fit(line, *columns) : line) + "\n";
    line = margin;
  };
  for (const std::string_view word : split(text, ' ')) {
    if (columns && line != margin && display_width(line) + 1 + display_width(word) > *columns) {
      end_line();
    }
    if (line != margin) line += ' ';
    line += word;
  }
  end_line();
  return lines;
}

}  // namespace rlock
