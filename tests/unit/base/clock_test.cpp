#include "base/clock.hpp"

#include <algorithm>
#include <climits>

#include <doctest/doctest.h>

using namespace rlock;

TEST_CASE("the clock never goes back") {
  const TimePoint first = BootClock::now();
  CHECK(first > TimePoint());
  CHECK(BootClock::now() >= first);
}

TEST_CASE("after adds, and stops at the end of time") {
  const TimePoint start(std::chrono::seconds(100));
  CHECK(after(start, Milliseconds(1500)) == start + Milliseconds(1500));
  CHECK(after(start, Milliseconds(0)) == start);
  CHECK(after(TimePoint::max(), Milliseconds(0)) == TimePoint::max());
  CHECK(after(TimePoint::max(), Milliseconds(1)) == TimePoint::max());
  CHECK(after(TimePoint::max() - Milliseconds(5), Milliseconds(6)) == TimePoint::max());
  CHECK(after(start, std::chrono::hours(24 * 365 * 100)) > start);
}

TEST_CASE("poll_timeout says what poll() wants to hear") {
  CHECK(poll_timeout(TimePoint::max()) == -1);
  CHECK(poll_timeout(BootClock::now()) == 0);
  CHECK(poll_timeout(TimePoint()) == 0);
  CHECK(poll_timeout(TimePoint::max() - Milliseconds(1)) == INT_MAX);
  const int hour = poll_timeout(BootClock::now() + std::chrono::hours(1));
  CHECK(hour > 3'500'000);
  CHECK(hour <= 3'600'000);
}

TEST_CASE("poll_timeout rounds up: no busy loop in the last millisecond") {
  // The clock moves on while this runs; a rounded-down hour would show up as 3 599 999 at once.
  int longest = 0;
  for (int i = 0; i < 100; ++i) {
    longest = std::max(longest, poll_timeout(BootClock::now() + std::chrono::hours(1)));
  }
  CHECK(longest == 3'600'000);
}
