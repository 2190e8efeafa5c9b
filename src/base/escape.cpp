#include "base/escape.hpp"

#include <algorithm>
#include <cstdint>

namespace rlock {
namespace {

constexpr std::string_view k_digits = "0123456789abcdef";

// A well-formed UTF-8 sequence at the start of a text, or length 0.
struct CodePoint {
  std::size_t length = 0;
  std::uint32_t value = 0;
};

CodePoint decode(std::string_view text) {
  const std::uint8_t first = static_cast<std::uint8_t>(text[0]);
  if (first < 0x80) return {1, first};
  CodePoint point;
  std::uint32_t smallest = 0;
  if ((first & 0xE0) == 0xC0) {
    point = {2, first & 0x1FU};
    smallest = 0x80;
  } else if ((first & 0xF0) == 0xE0) {
    point = {3, first & 0x0FU};
    smallest = 0x800;
  } else if ((first & 0xF8) == 0xF0) {
    point = {4, first & 0x07U};
    smallest = 0x10000;
  } else {
    return {};
  }
  if (text.size() < point.length) return {};
  for (const unsigned char next : text.substr(1, point.length - 1)) {
    if ((next & 0xC0) != 0x80) return {};
    point.value = (point.value << 6) | (next & 0x3FU);
  }
  const bool surrogate = point.value >= 0xD800 && point.value <= 0xDFFF;
  if (point.value < smallest || point.value > 0x10FFFF || surrogate) return {};
  return point;
}

// Characters that move the cursor, or reorder or hide text: C0, DEL, C1, bidirectional controls.
bool is_control(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x2028 || c == 0x2029 ||
         (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
}

void append_hex(std::string& out, std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) out += "\\x" + to_hex(bytes.substr(i, 1));
}

// \uNNNN; all control characters have four digits.
void append_code(std::string& out, std::uint32_t c) {
  const char bytes[] = {static_cast<char>(c >> 8), static_cast<char>(c & 0xFF)};
  out += "\\u" + to_hex({bytes, 2});
}

enum class Controls { keep, escape, as_codes };

std::string escape(std::string_view bytes, Controls controls) {
  // Most texts are plain from end to end.
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7F; };
  if (std::ranges::all_of(bytes, is_plain)) return std::string(bytes);
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const CodePoint point = decode(bytes);
    const bool is_invalid = point.length == 0;
    const bool is_harmful = controls != Controls::keep && is_control(point.value);
    const std::string_view character = bytes.substr(0, is_invalid ? 1 : point.length);
    if (!is_invalid && is_harmful && controls == Controls::as_codes) {
      append_code(out, point.value);
    } else if (!is_invalid && is_harmful && point.value == '\n') {
      out += "\\n";
    } else if (is_invalid || is_harmful) {
      append_hex(out, character);
    } else {
      out += character;
    }
    bytes.remove_prefix(character.size());
  }
  return out;
}

// Takes user and password out of every URL.
std::string without_credentials(std::string_view text) {
  constexpr std::string_view k_mark = "://";
  std::string result;
  while (true) {
    const std::size_t mark = text.find(k_mark);
    if (mark == std::string_view::npos) return result += text;
    result += text.substr(0, mark + k_mark.size());
    text.remove_prefix(mark + k_mark.size());
    const std::size_t at = text.substr(0, text.find_first_of(" '\"")).rfind('@');
    if (at != std::string_view::npos) text.remove_prefix(at + 1);
  }
}

}  // namespace

std::string escape_for_terminal(std::string_view bytes) { return escape(bytes, Controls::escape); }

std::string escape_as_codes(std::string_view bytes) { return escape(bytes, Controls::as_codes); }

std::string quote_input(std::string_view words) {
  return without_credentials(escape_for_terminal(words));
}

std::string to_utf8(std::string_view bytes) { return escape(bytes, Controls::keep); }

std::string with_backslashes(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string to_hex(std::string_view bytes) {
  std::string out;
  for (const unsigned char byte : bytes) {
    out += k_digits[byte >> 4];
    out += k_digits[byte & 15];
  }
  return out;
}

std::optional<std::string> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (; !digits.empty(); digits.remove_prefix(2)) {
    const std::size_t high = k_digits.find(digits[0]);
    const std::size_t low = k_digits.find(digits[1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

}  // namespace rlock
