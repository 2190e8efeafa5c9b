// What the refusals and the failures of several servers mean together.
#include "lock/servers/tally.hpp"

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "lock/servers/restart.hpp"
#include "lock/words/wrong_kind.hpp"

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

namespace {

template <typename Exception>
std::exception_ptr pointer(const Exception& error) {
  return std::make_exception_ptr(error);
}

std::exception_ptr started(const char* url, int up_ms) {
  return pointer(lock::JustStarted(url, Milliseconds(up_ms), k_last));
}

std::string too_few(const std::vector<std::exception_ptr>& failures, Majority majority,
                    const char* purpose, std::size_t silent = 0) {
  try {
    lock::throw_too_few(failures, majority, purpose, silent);
  } catch (const redis::Unavailable& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("of a majority that did not answer, each reason is told once") {
  const std::vector<std::exception_ptr> failures = {
      started("redis://b", 2000), pointer(redis::Unavailable("redis://a: away")),
      pointer(redis::Unavailable("redis://a: away")), pointer(redis::Interrupted()),
      pointer(lock::in_use("job", "list"))};
  const std::string reasons =
      ": job: a list, not a lock; redis://a: away; redis://b: may have started within the last "
      "30s and may have forgotten a lock: no vote yet";
  // Of five servers, one more than these has answered.
  CHECK(too_few(failures, {9}, "renew the lock") ==
        "too few of the 9 servers answered, 5 are needed to renew the lock" + reasons +
            "; try again in 28s");
  CHECK(too_few({}, {5}, "listen", 2) ==
        "too few of the 5 servers answered, 3 are needed to listen; 2 did not answer in time");
  try {
    std::rethrow_exception(add_up({busy("a:1", k_soon)}, 0, failures, {6}).busy.failure);
  } catch (const redis::Unavailable& error) {
    CHECK(std::string(error.what()) ==
          "no owner is known to have a majority of the 6 servers, and some of them fail" + reasons +
              "; try again in 28s");
  }
}

TEST_CASE("servers that have just started are told once, and when enough of them have a vote") {
  const auto all = {started("redis://a", 2000), started("redis://b", 5000),
                    started("redis://c", 0)};
  CHECK(too_few(all, {3}, "take the lock") ==
        "too few of the 3 servers answered, 2 are needed to take the lock: redis://a, redis://b, "
        "redis://c: may have started within the last 30s and may have forgotten a lock: no vote "
        "yet; try again in 28s");
  CHECK_THROWS_AS(std::rethrow_exception(started("redis://a", 999)), lock::Restarted);
  CHECK(std::string(lock::JustStarted("redis://a", Milliseconds(999), k_last).what()) ==
        "redis://a: may have started within the last 30s and may have forgotten a lock: no vote "
        "for another 29s");
}
