// A side key that was evicted or deleted.
#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "redis/fair_fixture.hpp"
#include "redis/semaphore_fixture.hpp"
#include "support/resp.hpp"

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

TEST_CASE("lost side key: a semaphore that rests can be used, and leaves nothing for ever") {
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

TEST_CASE("lost side key: a string that may be a lock is no semaphore") {
  test::Server server;
  redis::Client client = client_of(server);
  const std::vector<std::pair<std::string, int>> samples = {{"1", 1}, {"5", 2}, {"12345", 3}};
  for (const auto& [value, permits] : samples) {
    CAPTURE(value);
    server.command({"SET", "job", value, "PX", "30000"});
    lock::SingleServerLock semaphore = make_semaphore("u:1", permits);
    CHECK(refusal(client, semaphore) == "string");
  }
}
