// renew.lua
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "redis/lock_fixture.hpp"
#include "support/script_calls.hpp"

using namespace rlock;
using test::client_of;
using test::make_lock;
using test::Words;

TEST_CASE("renew: extends the owner's lease and what is told of him, and never shortens it") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock first = make_lock("u:1", Milliseconds(30'000));
  REQUIRE(std::holds_alternative<lock::Hold>(first.try_acquire(client, lock::Join::no)));
  CHECK(make_lock("u:1", Milliseconds(600'000)).renew(client) == lock::Renewal::renewed);
  CHECK(pttl(server, "job") > 30'000);
  CHECK(pttl(server, "rlock_info:{job}") > 30'000);
  CHECK(first.renew(client) == lock::Renewal::renewed);
  CHECK(pttl(server, "job") > 30'000);
  CHECK(server.list({"HGETALL", "job"}) == Words{"u:1", "1"});
}

TEST_CASE("renew: the lease's end is counted from before the request") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock lock = make_lock("u:1", Milliseconds(10'000));
  REQUIRE(std::holds_alternative<lock::Hold>(lock.try_acquire(client, lock::Join::no)));
  const TimePoint before = BootClock::now();
  TimePoint end = after(before, Milliseconds(5000));
  REQUIRE(lock.renew(client, &end) == lock::Renewal::renewed);
  CHECK(end >= lock::lease_deadline(before, Milliseconds(10'000)));
  CHECK(end <= lock::lease_deadline(BootClock::now(), Milliseconds(10'000)));
}

TEST_CASE("S4, S5: renew of a lock that is not ours says so and changes nothing" *
          doctest::test_suite("S4")) {
  test::Server server;
  redis::Client client = client_of(server);
  const lock::SingleServerLock lock = make_lock("u:2", Milliseconds(600'000));
  CHECK(lock.renew(client) == lock::Renewal::lost);
  CHECK(server.keys().empty());
  const std::vector<Words> makers = {
      {"HSET", "job", "u:1", "1"}, {"SET", "job", "u:1"}, {"RPUSH", "job", "u:2"}};
  for (const Words& maker : makers) {
    server.command({"DEL", "job"});
    server.command(maker);
    server.command({"PEXPIRE", "job", "50000"});
    CHECK(lock.renew(client) == lock::Renewal::lost);
    CHECK(lock.ask(client) == lock::Renewal::lost);
    CHECK(pttl(server, "job") <= 50'000);
  }
  CHECK(server.keys() == Words{"job"});
}

TEST_CASE("renew: to ask changes nothing") {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"HSET", "job", "u:1", "1"});
  server.command({"PEXPIRE", "job", "20000"});
  CHECK(make_lock("u:1", Milliseconds(600'000)).ask(client) == lock::Renewal::renewed);
  CHECK(pttl(server, "job") <= 20'000);
}

TEST_CASE("renew: does without a side key, and with one that is broken") {
  test::Server server;
  redis::Client client = client_of(server);
  const lock::SingleServerLock lock = make_lock("u:1", Milliseconds(60'000));
  const std::vector<Words> makers = {{"DEL", "rlock_info:{job}"},
                                     {"SET", "rlock_info:{job}", "x"},
                                     {"HSET", "rlock_info:{job}", "u:1", "not JSON"},
                                     {"HSET", "rlock_info:{job}", "u:1", "7"}};
  for (const Words& maker : makers) {
    server.command({"FLUSHALL"});
    server.command({"HSET", "job", "u:1", "1"});
    server.command({"PEXPIRE", "job", "1000"});
    server.command(maker);
    CHECK(lock.renew(client) == lock::Renewal::renewed);
    CHECK(pttl(server, "job") > 1000);
  }
}

TEST_CASE(
    "renew: what has no expiry keeps none, also without memory; no more do re-entries add one") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock plain = make_lock("u:1");
  lock::Terms of_several{Milliseconds(30'000)};
  of_several.restart_delay = Milliseconds(0);
  lock::SingleServerLock latched(lock::plain_operations("job"), "u:1", {}, of_several);
  for (lock::SingleServerLock* lock : {&plain, &latched}) {
    server.command({"FLUSHALL"});
    REQUIRE(std::holds_alternative<lock::Hold>(lock->try_acquire(client, lock::Join::no)));
    server.command({"PERSIST", "job"});
    CHECK(make_lock("u:1").reenter(client));
    CHECK(pttl(server, "job") == -1);
    server.command({"CONFIG", "SET", "maxmemory", "1"});
    CHECK(lock->renew(client) == lock::Renewal::renewed);
    CHECK(pttl(server, "job") == -1);
    server.command({"CONFIG", "SET", "maxmemory", "0"});
    CHECK(server.list({"HGETALL", "job"}) == Words{"u:1", "2"});
  }
  server.command({"SET", "job", "u:1"});  // as other libraries do
  CHECK(plain.renew(client) == lock::Renewal::renewed);
  CHECK(make_lock("u:1").reenter(client));
  CHECK(pttl(server, "job") == -1);
}

// One of several servers, that may have the lock from another hold of the owner's.
TEST_CASE("renew: a hold that is not latched here is counted once more, and latched") {
  test::Server server;
  redis::Client client = client_of(server);
  const std::string latch = "redisson_unlock_latch:{job}:a";
  server.command({"HSET", "job", "u:1", "1"});
  server.command({"PEXPIRE", "job", "20000"});
  const auto renews = [&] {
    return client
        .run(lua::renew::Call{.lock = test::k_job.lock,
                              .lease = Milliseconds(30'000),
                              .owner = "u:1",
                              .info = test::k_job.info,
                              .latch = test::k_job.latch("a")})
        .as_integer();
  };
  for (int i = 0; i < 3; ++i) {
    CHECK(renews() == 1);
    CHECK(server.command({"HGET", "job", "u:1"}) == "2");
    CHECK(server.command({"GET", latch}) == "entered");
    const long left = pttl(server, latch);
    CHECK(left > 30'000);
    CHECK(left <= 60'000);
  }
  server.command({"SET", latch, "0"});
  CHECK(renews() == 0);
  CHECK(server.command({"HGET", "job", "u:1"}) == "2");
}
