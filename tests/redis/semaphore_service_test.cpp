// Semaphores, or permits, that another client made.
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "redis/lock_fixture.hpp"
#include "redis/semaphore_fixture.hpp"
#include "support/proxy.hpp"
#include "support/resp.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock;
using namespace rlock::test::semaphore;
using lock::Busy;
using lock::Join;
using lock::Release;
using lock::Renewal;
using test::client_of;
using test::has;
using test::Words;

namespace {

// A permit as Redisson names it, and the end of one that has none.
const std::string k_java = std::string("\0\x01\xfe\xff", 4) + "0123456789ab";

}  // namespace

TEST_CASE("semaphore: of one that rlock made, the number is that of who takes a permit last") {
  test::Server server;
  redis::Client client = client_of(server);
  for (const char* owner : {"u:1", "u:2", "u:3"}) REQUIRE(takes(client, owner, 3));
  CHECK_FALSE(takes(client, "u:4", 2));
  CHECK_FALSE(takes(client, "u:4", 3));
  CHECK(total(server) == 3);
  REQUIRE(takes(client, "u:4", 5));
  CHECK(server.command({"GET", "job"}) == "1");
  // A service that has added to it, or has lost it, is of no account, and it has an end again.
  server.command({"SET", "job", "7"});
  CHECK_FALSE(takes(client, "u:5", 4));
  REQUIRE(takes(client, "u:5", 6));
  CHECK(total(server) == 6);
  CHECK(pttl(server) > k_day);
  server.command({"DEL", "job"});
  CHECK_FALSE(takes(client, "u:6", 5));
  REQUIRE(takes(client, "u:6", 6));
  CHECK(total(server) == 6);
  CHECK(pttl(server) > k_day);
}

TEST_CASE("semaphore: one that a service made keeps its number, has no expiry and stays") {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"SET", "job", "2"});
  for (const int permits : {1, 3}) {
    lock::SingleServerLock other = make_semaphore("u:9", permits);
    const std::string text = refusal(client, other);
    CHECK(has(text, "it has 2 permits, not " + std::to_string(permits)));
  }
  CHECK(server.keys() == Words{"job"});
  server.command({"ZADD", k_permits, k_never, k_java});
  server.command({"SET", "job", "1"});
  lock::SingleServerLock semaphore = make_semaphore("u:1", 2);
  REQUIRE(takes(semaphore, client));
  CHECK(server.command({"GET", "job"}) == "0");
  CHECK_FALSE(takes(client, "u:2", 2));
  CHECK(semaphore.renew(client) == Renewal::renewed);
  CHECK(pttl(server) == -1);
  CHECK(pttl(server, k_permits) == -1);
  CHECK(pttl(server, k_info) > 0);
  CHECK(semaphore.release(client) == Release::freed);
  CHECK(server.list({"ZRANGE", k_permits, "0", "-1"}) == Words{k_java});
  server.command({"ZREM", k_permits, k_java});
  server.command({"SET", "job", "2"});
  lock::SingleServerLock next = make_semaphore("u:2", 2);
  REQUIRE(takes(next, client));
  CHECK(next.release(client) == Release::freed);
  CHECK(test::wait_until([&] { return server.keys() == Words{"job"}; }));
  CHECK(server.command({"GET", "job"}) == "2");
  CHECK(pttl(server) == -1);
}

TEST_CASE("semaphore: the keys outlive a permit that a service has in one that rlock made") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock semaphore = make_semaphore("u:1", 3);
  REQUIRE(takes(semaphore, client));
  server.command({"DECR", "job"});
  SUBCASE("one that ends") {
    server.command({"ZADD", k_permits, std::to_string(now(server) + 10 * k_day), k_java});
    CHECK(semaphore.renew(client) == Renewal::renewed);
    CHECK(pttl(server) > 10 * k_day);
    CHECK(pttl(server, k_permits) > 10 * k_day);
    CHECK(semaphore.release(client) == Release::freed);
  }
  SUBCASE("one that does not") {
    server.command({"ZADD", k_permits, k_never, k_java});
    CHECK(semaphore.release(client) == Release::freed);
    CHECK(pttl(server) == -1);
    CHECK(pttl(server, k_permits) == -1);
    for (const char* owner : {"u:2", "u:3"}) REQUIRE(takes(client, owner, 3));
    const auto answer = make_semaphore("u:4", 3).try_acquire(client, Join::no);
    REQUIRE(std::holds_alternative<Busy>(answer));
    CHECK(std::get<Busy>(answer).permits == 3);
    for (const char* owner : {"u:2", "u:3"}) {
      lock::SingleServerLock mine = make_semaphore(owner, 3);
      CHECK(mine.release(client) == Release::freed);
    }
  }
  CHECK(server.command({"GET", "job"}) == "2");
  CHECK(server.list({"ZRANGE", k_permits, "0", "-1"}) == Words{k_java});
  // With the permit back, it is one of rlock's as before.
  server.command({"ZREM", k_permits, k_java});
  server.command({"INCR", "job"});
  lock::SingleServerLock last = make_semaphore("u:5", 3);
  REQUIRE(takes(last, client));
  CHECK(pttl(server) <= k_day + 30'000);
  CHECK(pttl(server) > k_day);
  CHECK(last.release(client) == Release::freed);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("semaphore: while somebody listens its number stays, since a service waits for that") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock semaphore = make_semaphore("u:1", 2);
  REQUIRE(takes(semaphore, client));
  test::RespClient listener = server.connect();
  listener.call({"SUBSCRIBE", k_channel});
  CHECK(semaphore.release(client) == Release::freed);
  CHECK(listener.call({"PING"}) == Words{"message", k_channel, "2"});
  CHECK(server.command({"GET", "job"}) == "2");
  CHECK(pttl(server) > k_day - 60'000);
  CHECK(pttl(server) <= k_day);
  // One that is made anew is announced, too.
  server.command({"DEL", "job", k_info});
  test::RespClient next = server.connect();
  next.call({"SUBSCRIBE", k_channel});
  CHECK(takes(client, "u:2", 3));
  CHECK(next.call({"PING"}) == Words{"message", k_channel, "2"});
}

TEST_CASE("semaphore: breaking it takes every permit, once, and keeps what a service made") {
  test::Server server;
  test::Proxy proxy(server.port());
  redis::ClientOptions options;
  options.endpoint = redis::parse_url(proxy.url());
  redis::Client client(options);
  bool is_of_service = false;
  SUBCASE("a service's") { is_of_service = true; }
  SUBCASE("one of rlock's") {}
  if (is_of_service) server.command({"SET", "job", "3"});
  REQUIRE(takes(client, "u:1", 3));
  const std::int64_t left_ms = lock::look_at(client, "job", lock::ForceReleaseTarget::lock).ttl_ms;
  CHECK(left_ms > 0);
  CHECK(left_ms <= 30'000);
  server.command({"ZADD", k_permits, k_never, k_java, "1", "ended"});
  server.command({"DECRBY", "job", "2"});
  REQUIRE(total(server) == 3);
  const std::string digits = "0001feff303132333435363738396162";
  const auto seen = lock::look_at(client, "job", lock::ForceReleaseTarget::lock);
  REQUIRE(seen.holders.size() == 2);
  CHECK(seen.holders[0].owner == "u:1");
  CHECK(seen.holders[1].owner == digits);
  CHECK(seen.ttl_ms == -1);
  const auto left = lock::break_lock(client, "job", lock::ForceReleaseTarget::lock, Words{"u:1"});
  CHECK(left.outcome == lock::ForceRelease::Outcome::held_by_others);
  REQUIRE(total(server) == 3);
  test::RespClient listener = server.connect();
  listener.call({"SUBSCRIBE", k_channel});
  proxy.cut_after_next_request("redisson_sc");
  const auto broken =
      lock::break_lock(client, "job", lock::ForceReleaseTarget::lock, Words{"u:1", digits});
  CHECK(proxy.cuts() == 1);
  CHECK(broken.outcome == lock::ForceRelease::Outcome::broken);
  CHECK(broken.found.holders.size() == 2);
  CHECK(listener.call({"PING"}) == Words{"message", k_channel, "3"});
  CHECK(server.command({"GET", "job"}) == "3");
  CHECK(server.command({"EXISTS", k_permits}) == "0");
  CHECK((pttl(server) == -1) == is_of_service);
}
