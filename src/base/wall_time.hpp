// Times of day, for people. To measure a span, use base/clock.hpp.
#pragma once

#include <cstdint>
#include <string>

namespace rlock {

// Returns a time (ms since 1970) in UTC: "2026-11-21T01:59:22.516Z".
[[nodiscard]] std::string utc_time(std::int64_t time_ms);

// Returns the time of this machine's clock, in ms since 1970.
[[nodiscard]] std::int64_t local_time_ms();

}  // namespace rlock
