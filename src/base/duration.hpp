// Durations as people type them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace rlock {

// How a duration looks, for error messages and help texts.
inline constexpr std::string_view k_duration_syntax = "500ms, 30s, 5m, 1h30m, 1d or 1.5s";

// Parses `500ms`, `30s`, `5m`, `1h`, `1d`, `1w` or `1.5s`, several of them with the largest unit
// first, as in `1h04m`, and the usual names of the units, as in `10min` and `2days`. A bare number
// is seconds. Rounds each part up to a millisecond. Returns nothing for any other text, or more
// than 100 years. Understands what format_duration returns.
[[nodiscard]] std::optional<Milliseconds> parse_duration(std::string_view text);

// Returns `span` for people, in its two largest units: `850ms`, `12s`, `3m20s`, `2h05m`, `4d03h`.
[[nodiscard]] std::string format_duration(Milliseconds span);

// Returns the same without the milliseconds, for countdowns: `0s` if `span` is less than a second.
[[nodiscard]] std::string format_seconds(Milliseconds span);

// Returns the same for how long something has lasted: `less than 1s`, then as format_duration.
[[nodiscard]] std::string format_age(Milliseconds span);

}  // namespace rlock
