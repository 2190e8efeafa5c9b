// Numbers that a server tells in decimal.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace rlock {

// Returns the number at the start of `text`, or `otherwise` if there is none that fits.
[[nodiscard]] inline std::int64_t to_integer(std::string_view text, std::int64_t otherwise = 0) {
  std::int64_t value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace rlock
