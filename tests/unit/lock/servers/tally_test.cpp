// add_up: what the refusals of several servers mean together.
#include "lock/servers/tally.hpp"

#include <optional>
#include <string>

#include <doctest/doctest.h>

using namespace rlock;
using lock::add_up;
using lock::Busy;
using lock::Majority;

namespace {

Busy busy(const std::string& owner, std::optional<Milliseconds> ttl) {
  Busy result;
  result.owner = owner;
  result.ttl = ttl;
  return result;
}

constexpr Milliseconds k_soon{10'000};
constexpr Milliseconds k_later{20'000};
constexpr Milliseconds k_last{30'000};

}  // namespace

TEST_CASE("add_up: a majority can be had when as many leases have ended as are missing") {
  const Majority majority{3};
  const auto all = {busy("a:1", k_last), busy("a:1", k_soon), busy("a:1", k_later)};
  CHECK(add_up(all, 0, {}, majority).busy.ttl == k_later);
  CHECK(add_up({busy("a:1", k_last), busy("a:1", k_soon)}, 1, {}, majority).busy.ttl == k_soon);
  CHECK(add_up({busy("a:1", k_last)}, 2, {}, majority).busy.ttl == k_last);
  // One server did not answer: the two others are needed.
  CHECK(add_up({busy("a:1", k_last), busy("a:1", k_soon)}, 0, {}, majority).busy.ttl == k_last);
  // Nobody but these has answered.
  CHECK(add_up({busy("a:1", k_soon)}, 0, {}, majority).busy.ttl == k_soon);
}

TEST_CASE("add_up: a lock without an end ends last") {
  const Majority majority{3};
  const auto answers = {busy("a:1", std::nullopt), busy("a:1", k_soon), busy("a:1", std::nullopt)};
  CHECK(add_up(answers, 1, {}, majority).busy.ttl == k_soon);
  CHECK_FALSE(add_up(answers, 0, {}, majority).busy.ttl.has_value());
}

TEST_CASE("add_up: the holder is who has most, and without a majority nobody is") {
  const Majority majority{5};
  const auto most =
      add_up({busy("b:1", k_soon), busy("a:1", k_last), busy("a:1", k_later)}, 2, {}, majority);
  CHECK(most.busy.owner == "a:1");
  CHECK(most.is_split);
  CHECK(most.busy.ttl == k_soon);
  const auto holder =
      add_up({busy("b:1", k_soon), busy("a:1", k_last), busy("a:1", k_last), busy("a:1", k_last)},
             0, {}, majority);
  CHECK(holder.busy.owner == "a:1");
  CHECK_FALSE(holder.is_split);
}
