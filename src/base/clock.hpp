// Time that also passes while the machine is suspended (CLOCK_BOOTTIME): the only clock on which a
// lease's end may be judged.
#pragma once

#include <chrono>

namespace rlock {

using Nanoseconds = std::chrono::nanoseconds;
using Milliseconds = std::chrono::milliseconds;

// A std::chrono clock; not affected by setting the date.
struct BootClock {
  using duration = Nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
  [[nodiscard]] static time_point now() noexcept;
};

using TimePoint = BootClock::time_point;

// Returns how long it is until `when`, as poll() wants it: rounded up, 0 if past, -1 for
// TimePoint::max().
[[nodiscard]] int poll_timeout(TimePoint when) noexcept;

// Returns `when` + `span`, or TimePoint::max() where that would not fit.
[[nodiscard]] TimePoint after(TimePoint when, Milliseconds span) noexcept;

}  // namespace rlock
