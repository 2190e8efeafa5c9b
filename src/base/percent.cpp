#include "base/percent.hpp"

#include <cctype>

#include "base/integer.hpp"

namespace rlock {
namespace {

constexpr std::string_view k_hex = "0123456789ABCDEF";

}  // namespace

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const auto byte = parse_integer<unsigned>(text.substr(i + 1, 2), 16);
    if (text.size() - i < 3 || !byte) return std::nullopt;
    out += static_cast<char>(*byte);
    i += 2;
  }
  return out;
}

std::string percent_encode(std::string_view bytes, std::string_view plain) {
  std::string out;
  for (const unsigned char byte : bytes) {
    const char c = static_cast<char>(byte);
    if (std::isalnum(byte) != 0 || plain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += '%';
      out += k_hex[byte >> 4];
      out += k_hex[byte & 15];
    }
  }
  return out;
}

}  // namespace rlock
