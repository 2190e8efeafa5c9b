// OutageRetry: how long a server that does not answer is borne.
#include "lock/servers/outage_retry.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "lock/servers/restart.hpp"
#include "lock/servers/tally.hpp"

using namespace rlock;
using lock::OutageRetry;
using lock::Restarted;

namespace {

constexpr Milliseconds k_longest{150};

// Returns whether the outage bears an error of this kind for longer than `k_longest`.
template <typename Kind>
bool bears(OutageRetry& outage) {
  const TimePoint start = BootClock::now();
  try {
    while (BootClock::now() < after(start, 3 * k_longest)) {
      try {
        throw Kind("redis://a: away");
      } catch (const Error& error) {
        outage.wait_or_throw(error, -1);
      }
    }
    return true;
  } catch (const Kind&) {
    return false;
  }
}

bool throws_restarted(std::size_t restarted, std::size_t away) {
  std::vector<std::exception_ptr> failures;
  for (std::size_t i = 0; i < restarted; ++i) {
    failures.push_back(std::make_exception_ptr(Restarted("redis://a: it has just started")));
  }
  for (std::size_t i = 0; i < away; ++i) {
    failures.push_back(std::make_exception_ptr(redis::Unavailable("it is away")));
  }
  try {
    lock::throw_too_few(failures, {3}, "take the lock");
  } catch (const Restarted&) {
    return true;
  } catch (const redis::Unavailable&) {
    return false;
  }
}

}  // namespace

TEST_CASE("W6: a wait outlasts servers that have no vote yet, but not servers that are away" *
          doctest::test_suite("W6")) {
  OutageRetry outage(
      TimePoint::max(), [](const Error&) {}, k_longest);
  CHECK(bears<Restarted>(outage));
  CHECK_FALSE(bears<redis::Unavailable>(outage));
  OutageRetry bounded(
      after(BootClock::now(), k_longest), [](const Error&) {}, k_longest);
  CHECK_FALSE(bears<Restarted>(bounded));
  CHECK(throws_restarted(2, 0));
  CHECK(throws_restarted(2, 1));
  CHECK_FALSE(throws_restarted(1, 2));
  CHECK_FALSE(throws_restarted(0, 2));
}
