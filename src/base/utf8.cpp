#include "base/utf8.hpp"

namespace rlock {

bool append_utf8(std::string& text, std::uint32_t c) {
  if (c == 0 || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return false;
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  const auto follow = [&](unsigned shift) { put(0x80 | ((c >> shift) & 0x3F)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    follow(6);
  } else {
    put(0xF0 | (c >> 18));
    follow(12);
    follow(6);
  }
  if (c >= 0x80) follow(0);
  return true;
}

}  // namespace rlock
