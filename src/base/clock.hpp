// CLOCK_BOOTTIME, which also counts while the machine is suspended: the clock of all leases.
#pragma once

#include <chrono>

namespace rlock {

using Nanoseconds = std::chrono::nanoseconds;
using Milliseconds = std::chrono::milliseconds;

// A std::chrono clock. Setting the date does not change it.
struct BootClock {
  using duration = Nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
  [[nodiscard]] static time_point now() noexcept;
};

using TimePoint = BootClock::time_point;

// Returns the milliseconds until `when` for poll(): rounded up, 0 if past, -1 for TimePoint::max().
[[nodiscard]] int poll_timeout(TimePoint when) noexcept;

// Returns `when` + `span`, or TimePoint::max() if the sum does not fit.
[[nodiscard]] TimePoint after(TimePoint when, Milliseconds span) noexcept;

}  // namespace rlock
