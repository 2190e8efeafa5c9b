// Whole numbers, in decimal as a rule.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace rlock {

// Returns `text` as a number. Returns nothing if `text` has other characters, or the number does
// not fit. Only "-" is accepted as a sign, and only if Number is signed.
template <typename Number>
[[nodiscard]] std::optional<Number> parse_integer(std::string_view text, int base = 10) {
  Number value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

}  // namespace rlock
