#include "lock/holding/waiting.hpp"

#include <algorithm>

#include <doctest/doctest.h>

using rlock::Milliseconds;
using rlock::lock::sleep_bound;

namespace {

constexpr unsigned k_most_spread = 999;

}  // namespace

TEST_CASE("a wait ends with the lease that was seen") {
  CHECK(sleep_bound(Milliseconds(3000), 0) == Milliseconds(3001));
  CHECK(sleep_bound(Milliseconds(200), 0) == Milliseconds(201));
  for (int ttl = 50; ttl < 5000; ttl += 7) {
    for (const unsigned spread : {0U, 500U, k_most_spread}) {
      CAPTURE(ttl);
      CAPTURE(spread);
      CHECK(sleep_bound(Milliseconds(ttl), spread) > Milliseconds(ttl));
      CHECK(sleep_bound(Milliseconds(ttl), spread) <= Milliseconds(ttl + 20));
    }
  }
}

TEST_CASE("no wait is longer than 5 s and a little, however long the lease") {
  for (const Milliseconds ttl : {Milliseconds(4999), Milliseconds(5000), Milliseconds(30'000),
                                 Milliseconds(std::chrono::hours(8784)), Milliseconds::max()}) {
    CHECK(sleep_bound(ttl, 0) <= Milliseconds(5000));
    CHECK(sleep_bound(ttl, k_most_spread) < Milliseconds(6000));
  }
}

TEST_CASE("a lock without an expiry is asked for every 5 s") {
  CHECK(sleep_bound(std::nullopt, 0) == Milliseconds(5000));
  CHECK(sleep_bound(std::nullopt, k_most_spread) < Milliseconds(6000));
}

TEST_CASE("a wait is never so short that it makes a busy loop") {
  for (const int ttl : {0, 1, 10, 49, 50}) {
    for (unsigned spread = 0; spread <= k_most_spread; ++spread) {
      CHECK(sleep_bound(Milliseconds(ttl), spread) >= Milliseconds(50));
    }
  }
  CHECK(sleep_bound(Milliseconds(-1), 0) >= Milliseconds(50));
  CHECK(sleep_bound(Milliseconds::min(), 0) >= Milliseconds(50));
}

TEST_CASE("the spread sets waiters apart") {
  CHECK(sleep_bound(std::nullopt, 0) != sleep_bound(std::nullopt, 500));
  CHECK(sleep_bound(Milliseconds(100), 0) != sleep_bound(Milliseconds(100), 500));
}
