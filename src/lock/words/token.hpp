// Fencing tokens as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/integer.hpp"

namespace rlock::lock {

// Returns the token that `text` is, a decimal integer from 0 to 2^63-1, or nothing.
[[nodiscard]] inline std::optional<std::int64_t> parse_token(std::string_view text) {
  return text.starts_with('-') ? std::nullopt : parse_integer<std::int64_t>(text);
}

}  // namespace rlock::lock
