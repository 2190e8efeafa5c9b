// A side key that was evicted or deleted.
#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "lock/inspection/force_release.hpp"
#include "lock/inspection/repair.hpp"
#include "lock/inspection/snapshot.hpp"
#include "redis/fair_fixture.hpp"
#include "redis/semaphore_fixture.hpp"
#include "support/resp.hpp"
#include "support/wait_until.hpp"

using namespace rlock;
using namespace rlock::test::semaphore;
using test::client_of;
using test::pttl;
using test::Words;

TEST_CASE("lost side key: a fair queue keeps an expiry, and gets the usual one back") {
  test::FairFixture f;
  f.hold_by_other();
  f.line_up({"u:1", "u:2"});
  f.server.command({"DEL", test::k_info});
  const auto longest = [&] {
    long most = 0;
    for (const std::string& key : {test::k_queue, test::k_scores}) {
      CHECK(pttl(f.server, key) > 0);
      most = std::max(most, pttl(f.server, key));
    }
    return most;
  };
  CHECK_FALSE(f.asks(f.locks[1]));  // the other one looks like a waiter of Redisson
  CHECK(longest() <= k_day);
  CHECK_FALSE(f.asks(f.locks[0]));
  CHECK(longest() <= 300'000);
  CHECK(test::queue(f.server) == Words{"u:1", "u:2"});
}

TEST_CASE("lost side key: a semaphore that rests can be used, and leaves nothing forever") {
  test::Server server;
  redis::Client client = client_of(server);
  for (const int permits : {1, 2}) {
    server.command({"FLUSHALL"});
    test::RespClient listener = server.connect();
    listener.call({"SUBSCRIBE", k_channel});  // so that the number stays
    lock::SingleServerLock first = make_semaphore("u:1", permits);
    REQUIRE(takes(first, client));
    server.command({"DEL", k_info});
    CHECK(first.release(client) == lock::Release::freed);
    CHECK(server.command({"GET", "job"}) == std::to_string(permits));
    lock::SingleServerLock second = make_semaphore("u:2", permits);
    CHECK(takes(second, client));
    CHECK(takes(client, "u:3", permits) == (permits == 2));
    for (const std::string& key : server.keys()) {
      CAPTURE(key);
      CHECK(pttl(server, key) > 0);
      CHECK(pttl(server, key) <= k_day + 30'000);
    }
  }
}

TEST_CASE("lost side key: a semaphore that rests for a listener takes another number") {
  test::Server server;
  redis::Client client = client_of(server);
  test::RespClient listener = server.connect();
  listener.call({"SUBSCRIBE", k_channel});
  for (const int permits : {2, 5, 1}) {
    lock::SingleServerLock first = make_semaphore("u:1", 3);
    REQUIRE(takes(first, client));
    CHECK(first.release(client) == lock::Release::freed);
    REQUIRE(server.command({"GET", "job"}) == "3");
    server.command({"DEL", k_info});
    lock::SingleServerLock second = make_semaphore("u:2", permits);
    REQUIRE(takes(second, client));
    CHECK(total(server) == permits);
    CHECK(server.command({"HGET", k_info, "permits"}) == std::to_string(permits));
    CHECK(second.release(client) == lock::Release::freed);
    for (const std::string& key : server.keys()) CHECK(pttl(server, key) > 0);
  }
}

TEST_CASE("lost side key: a number that rlock need not have made keeps its total") {
  test::Server server;
  redis::Client client = client_of(server);
  test::RespClient listener = server.connect();
  std::string reason = "a string, not a lock of this kind: a number with an expiry";
  SUBCASE("a semaphore of Redisson") {
    listener.call({"SUBSCRIBE", k_channel});
    server.command({"SET", "job", "3"});
    reason = "it has 3 permits, not 2";
  }
  SUBCASE("a string lock") {
    listener.call({"SUBSCRIBE", k_channel});
    server.command({"SET", "job", "3", "PX", "3600000"});
  }
  SUBCASE("one that lasts for longer than rlock leaves a number") {
    listener.call({"SUBSCRIBE", k_channel});
    server.command({"SET", "job", "3", "PX", "90000000"});
  }
  SUBCASE("nobody listens") { server.command({"SET", "job", "3", "PX", std::to_string(k_day)}); }
  lock::SingleServerLock semaphore = make_semaphore("u:1", 2);
  CHECK(test::has(refusal(client, semaphore), reason));
  CHECK(server.command({"GET", "job"}) == "3");
  CHECK(server.keys() == Words{"job"});
}

namespace {

// Waits until the permits of all holders have ended.
bool have_ended(const test::Server& server) {
  return test::wait_until([&] {
    return server.list({"ZRANGE", k_permits, std::to_string(now(server)), "+inf", "BYSCORE"})
        .empty();
  });
}

}  // namespace

TEST_CASE("lost side key: a semaphore takes another number as soon as its last permit has ended") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock dead = make_semaphore("u:1", 3, Milliseconds(500));
  REQUIRE(takes(dead, client));
  server.command({"DEL", k_info});
  SUBCASE("killed at once") {}
  SUBCASE("renewed before") {
    CHECK(dead.renew(client) == lock::Renewal::renewed);
    CHECK(server.command({"HGET", k_info, "permits"}) == "3");
    server.command({"DEL", k_info});
  }
  SUBCASE("beside a Redisson permit") {
    server.command({"ZADD", k_permits, std::to_string(now(server) + 2000), std::string(16, 'x')});
    server.command({"DECR", "job"});
  }
  REQUIRE(have_ended(server));
  lock::SingleServerLock next = make_semaphore("u:2", 2);
  REQUIRE(takes(next, client));
  CHECK(total(server) == 2);
  CHECK(next.release(client) == lock::Release::freed);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("lost side key: a semaphore grants no more permits than a run asks for") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock first = make_semaphore("u:1", 3);
  REQUIRE(takes(first, client));
  server.command({"DEL", k_info});
  CHECK_FALSE(takes(client, "u:2", 1));
  CHECK(takes(client, "u:2", 2));
  CHECK_FALSE(takes(client, "u:3", 2));
  CHECK(total(server) == 2);
  server.command({"DEL", k_info});
  CHECK(first.release(client) == lock::Release::freed);
  CHECK(total(server) == 2);
  CHECK(server.command({"HGET", k_info, "permits"}) == "2");
}

TEST_CASE("lost side key: a release beside another permit leaves a semaphore of rlock") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock first = make_semaphore("u:1", 2);
  lock::SingleServerLock second = make_semaphore("u:2", 2);
  REQUIRE(takes(first, client));
  REQUIRE(takes(second, client));
  CHECK(first.release(client) == lock::Release::freed);
  CHECK(pttl(server) < 60'000);  // nobody listens
  server.command({"DEL", k_info});
  CHECK(takes(client, "u:3", 3));
  CHECK(total(server) == 3);
}

TEST_CASE("lost side key: the last release and unlock --force leave nothing of a semaphore") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock semaphore = make_semaphore("u:1", 3);
  REQUIRE(takes(semaphore, client));
  server.command({"DEL", k_info});
  SUBCASE("released") { CHECK(semaphore.release(client) == lock::Release::freed); }
  SUBCASE("broken") {
    const auto broken =
        lock::break_lock(client, "job", lock::ForceReleaseTarget::lock, Words{"u:1"});
    CHECK(broken.outcome == lock::ForceRelease::Outcome::broken);
  }
  SUBCASE("repaired") {
    server.command({"ZADD", k_permits, std::to_string(now(server) - 1), "u:1"});
    server.command({"PEXPIRE", "job", std::to_string(k_day - 1)});
    CHECK(
        lock::repair(client, lock::take_snapshot(client, "job"), {}, lock::Repair::repair).size() ==
        1);
  }
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("lost side key: the semaphore of a service that set an expiry keeps its number") {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"SET", "job", "2", "PX", std::to_string(k_day)});
  server.command({"ZADD", k_permits, std::to_string(now(server) - 60'000), std::string(16, 'x')});
  lock::SingleServerLock semaphore = make_semaphore("u:1", 2);
  CHECK(refusal(client, semaphore).find("it has 3 permits, not 2") != std::string::npos);
  CHECK(server.command({"GET", "job"}) == "3");
  CHECK(pttl(server) > 0);
}

TEST_CASE("lost side key: a string that may be a lock is no semaphore") {
  test::Server server;
  redis::Client client = client_of(server);
  const std::vector<std::pair<std::string, int>> samples = {{"1", 1}, {"5", 2}, {"12345", 3}};
  for (const auto& [value, permits] : samples) {
    CAPTURE(value);
    server.command({"SET", "job", value, "PX", "30000"});
    lock::SingleServerLock semaphore = make_semaphore("u:1", permits);
    CHECK(test::has(refusal(client, semaphore), "job: a string, not a lock of this kind"));
  }
}
