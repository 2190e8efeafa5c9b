#include "base/percent.hpp"

#include <cctype>

#include "base/integer.hpp"

namespace rlock {
namespace {

constexpr std::string_view k_hex = "0123456789ABCDEF";

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("-._~:").find(c) != std::string_view::npos;
}

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

std::string percent_encode(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    if (is_plain(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += k_hex[byte >> 4];
      out += k_hex[byte & 15];
    }
  }
  return out;
}

}  // namespace rlock
