#include "lock/words/lease.hpp"

#include <doctest/doctest.h>

using namespace rlock;
using namespace rlock::lock;

namespace {

const TimePoint k_asked(std::chrono::hours(5));

}  // namespace

TEST_CASE("a lease counts from when it was asked for, less 1 % and 2 ms") {
  CHECK(lease_deadline(k_asked, Milliseconds(30'000)) == k_asked + Milliseconds(29'698));
  CHECK(lease_deadline(k_asked, Milliseconds(100)) == k_asked + Milliseconds(97));
  CHECK(lease_deadline(k_asked, Milliseconds(150)) == k_asked + std::chrono::microseconds(146'500));
}

TEST_CASE("a lease never counts as longer than the server's") {
  for (const Milliseconds length : {k_shortest_lease, Milliseconds(333), k_default_lease,
                                    Milliseconds(std::chrono::hours(8784))}) {
    CHECK(lease_deadline(k_asked, length) < k_asked + length);
    CHECK(lease_deadline(k_asked, length) > k_asked);
  }
}

TEST_CASE("SIGKILL goes out a twentieth of the lease before its end, at most 300 ms") {
  CHECK(kill_time(k_asked, Milliseconds(30'000)) == k_asked - Milliseconds(300));
  CHECK(kill_time(k_asked, Milliseconds(6000)) == k_asked - Milliseconds(300));
  CHECK(kill_time(k_asked, Milliseconds(2000)) == k_asked - Milliseconds(100));
  CHECK(kill_time(k_asked, Milliseconds(100)) == k_asked - Milliseconds(5));
}

TEST_CASE("hope ends when SIGTERM, the grace and SIGKILL still fit") {
  CHECK(last_moment(k_asked, Milliseconds(30'000), Milliseconds(5000)) ==
        k_asked - Milliseconds(5300));
  CHECK(last_moment(k_asked, Milliseconds(3000), Milliseconds(1000)) ==
        k_asked - Milliseconds(1150));
  CHECK(last_moment(k_asked, Milliseconds(3000), Milliseconds(0)) ==
        kill_time(k_asked, Milliseconds(3000)));
}

TEST_CASE("with the longest grace a renewal at a third of the lease still comes in time") {
  for (const Milliseconds length : {k_shortest_lease, Milliseconds(1000), k_default_lease}) {
    const TimePoint end = lease_deadline(k_asked, length);
    CHECK(last_moment(end, length, length / 3) > k_asked + length / 3);
  }
}
