#include "base/clock.hpp"

#include <algorithm>
#include <climits>
#include <ctime>

namespace rlock {

TimePoint BootClock::now() noexcept {
  timespec ts{};
  ::clock_gettime(CLOCK_BOOTTIME, &ts);
  return TimePoint(std::chrono::seconds(ts.tv_sec) + Nanoseconds(ts.tv_nsec));
}

int poll_timeout(TimePoint when) noexcept {
  if (when == TimePoint::max()) return -1;
  const auto left = std::chrono::ceil<Milliseconds>(when - BootClock::now()).count();
  return static_cast<int>(std::clamp<Milliseconds::rep>(left, 0, INT_MAX));
}

TimePoint after(TimePoint when, Milliseconds span) noexcept {
  if (TimePoint::max() - when < span) return TimePoint::max();
  return when + span;
}

}  // namespace rlock
