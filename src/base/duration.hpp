// Durations as people type them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace rlock {

// How a duration looks, for error messages and help texts.
inline constexpr std::string_view k_duration_syntax = "500ms, 30s, 5m, 1h, 1d or 1.5s";

// Parses `500ms`, `30s`, `5m`, `1h`, `1d` or `1.5s`. A bare number is seconds. Rounds up to a
// millisecond. Returns nothing for any other text, or more than 100 years.
[[nodiscard]] std::optional<Milliseconds> parse_duration(std::string_view text);

// Returns `span` for people, in its two largest units: `850ms`, `12s`, `3m20s`, `2h05m`, `4d03h`.
[[nodiscard]] std::string format_duration(Milliseconds span);

// Returns the same without the milliseconds, for countdowns: `0s` if `span` is less than a second.
[[nodiscard]] std::string format_seconds(Milliseconds span);

}  // namespace rlock
