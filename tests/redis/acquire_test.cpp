// acquire.lua
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "lock/kinds/fair.hpp"
#include "lock/kinds/read_write.hpp"
#include "lock/kinds/semaphore.hpp"
#include "lock/kinds/simple.hpp"
#include "redis/lock_fixture.hpp"
#include "support/script_calls.hpp"

using namespace rlock;
using test::client_of;
using test::make_lock;
using test::Words;

namespace {

// The script itself, for one hold `id`.
redis::Reply acquire(redis::Client& client, const std::string& owner, const std::string& id) {
  auto call = test::acquire_call(owner, id);
  call.about_json = "{\"host\":\"web1\"}";
  return client.run(call);
}

}  // namespace

TEST_CASE("acquire: a free lock is taken with a TTL in one step") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock lock = make_lock("u:1");
  const auto answer = lock.try_acquire(client, lock::Join::no);
  REQUIRE(std::holds_alternative<lock::Hold>(answer));
  CHECK(std::get<lock::Hold>(answer).count == 1);
  CHECK(server.list({"HGETALL", "job"}) == Words{"u:1", "1"});
  for (const char* key : {"job", "rlock_info:{job}"}) {
    const long ttl = pttl(server, key);
    CHECK(ttl > 0);
    CHECK(ttl <= 30'000);
  }
  CHECK(server.keys() == Words{"job", "rlock_info:{job}"});
}

TEST_CASE("acquire: a busy lock tells its holder and is not touched") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock holder = make_lock("u:1", Milliseconds(600'000));
  REQUIRE(std::holds_alternative<lock::Hold>(holder.try_acquire(client, lock::Join::no)));
  const std::string before = server.command({"DUMP", "job"});
  lock::SingleServerLock other = make_lock("u:2");
  const auto answer = other.try_acquire(client, lock::Join::no);
  REQUIRE(std::holds_alternative<lock::Busy>(answer));
  const auto& busy = std::get<lock::Busy>(answer);
  CHECK(busy.owner == "u:1");
  CHECK(busy.holder.host == "web1");
  CHECK(busy.holder.pid == 42);
  CHECK(busy.holder.command == "backup");
  REQUIRE(busy.ttl);
  CHECK(*busy.ttl > Milliseconds(30'000));
  CHECK(busy.held_for);
  CHECK(server.command({"DUMP", "job"}) == before);
  CHECK(server.command({"HLEN", "rlock_info:{job}"}) == "1");
}

TEST_CASE("acquire: a lock that is held beside a queue of fair waiters is told to be mixed") {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"HSET", "job", "r:1", "1"});
  lock::SingleServerLock other = make_lock("u:2");
  CHECK(std::holds_alternative<lock::Busy>(other.try_acquire(client, lock::Join::no)));
  CHECK_FALSE(other.is_mixed());
  server.command({"RPUSH", "redisson_lock_queue:{job}", "r:2"});
  CHECK(std::holds_alternative<lock::Busy>(other.try_acquire(client, lock::Join::no)));
  CHECK(other.is_mixed());
}

TEST_CASE("S6: acquire sent again by the same hold counts once" * doctest::test_suite("S6")) {
  test::Server server;
  redis::Client client = client_of(server);
  for (int i = 0; i < 3; ++i) {
    const auto items = acquire(client, "u:1", "a").as_array(2);
    CHECK(items[0].as_integer() == 1);
    CHECK(items[1].as_integer() == 1);
  }
  CHECK(server.list({"HGETALL", "job"}) == Words{"u:1", "1"});
}

TEST_CASE("S6: acquire that comes after its own release takes nothing" *
          doctest::test_suite("S6")) {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"SET", "redisson_unlock_latch:{job}:a", "1", "PX", "30000"});
  CHECK(acquire(client, "u:1", "a").as_array(1)[0].as_integer() == 2);
  CHECK(server.command({"EXISTS", "job"}) == "0");
  CHECK(acquire(client, "u:1", "b").as_array(1)[0].as_integer() == 1);
}

TEST_CASE("acquire: does not shorten a lease that it finds to be its own") {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"HSET", "job", "u:1", "1"});
  server.command({"PEXPIRE", "job", "600000"});
  CHECK(acquire(client, "u:1", "a").as_array(1)[0].as_integer() == 1);
  CHECK(pttl(server) > 30'000);
  server.command({"PERSIST", "job"});  // and one without an end gets one
  CHECK(acquire(client, "u:1", "a").as_array(1)[0].as_integer() == 1);
  CHECK(pttl(server) > 0);
}

// One of several servers: the latch tells which holds were counted here, also after a renewal that
// did not get here.
TEST_CASE(
    "acquire: a hold is latched for longer than its lease where several servers keep the lock") {
  test::Server server;
  redis::Client client = client_of(server);
  const std::string latch = "redisson_unlock_latch:{job}:a";
  for (int i = 0; i < 2; ++i) {
    auto call = test::acquire_call("u:1", "a");
    call.restart_delay = Milliseconds(0);
    const auto reply = client.run(call);
    CHECK(reply.as_array(2)[0].as_integer() == 1);
    CHECK(reply.as_array(2)[1].as_integer() == 1);
    CHECK(server.command({"GET", latch}) == "entered");
    CHECK(pttl(server, latch) > 50'000);
  }
  // A hold that was counted elsewhere, and not here, is one more.
  auto other = test::acquire_call("u:1", "b");
  other.restart_delay = Milliseconds(0);
  CHECK(client.run(other).as_array(2)[1].as_integer() == 2);
}

TEST_CASE("acquire: other kinds of lock are refused and not touched") {
  test::Server server;
  redis::Client client = client_of(server);
  const std::vector<Words> makers = {{"SET", "job", "x"},
                                     {"RPUSH", "job", "x"},
                                     {"SADD", "job", "x"},
                                     {"ZADD", "job", "1", "x"},
                                     {"HSET", "job", "mode", "read", "u:1", "1"}};
  for (const Words& maker : makers) {
    CAPTURE(maker[0]);
    server.command({"DEL", "job"});
    server.command(maker);
    const std::string before = server.command({"DUMP", "job"});
    lock::SingleServerLock lock = make_lock("u:1");
    CHECK_THROWS_AS(static_cast<void>(lock.try_acquire(client, lock::Join::no)), Error);
    CHECK(acquire(client, "u:1", "a").as_array(2)[0].as_integer() == 3);
    CHECK(server.command({"DUMP", "job"}) == before);
  }
}

TEST_CASE("acquire: whatever the side key holds, the lock is taken and its holder is told") {
  test::Server server;
  redis::Client client = client_of(server);
  const std::vector<Words> makers = {
      {"SET", "rlock_info:{job}", "x"},
      {"HSET", "rlock_info:{job}", "u:1", "{"},
      {"HSET", "rlock_info:{job}", "u:1", "7"},
      {"HSET", "rlock_info:{job}", "u:1", "{\"host\":[],\"pid\":{},\"since\":\"x\"}"},
      {"HSET", "rlock_info:{job}", "u:1", "{\"pid\":1e400,\"since\":-1e99}"}};
  for (const Words& maker : makers) {
    server.command({"FLUSHALL"});
    server.command({"HSET", "job", "u:1", "1"});
    server.command(maker);
    lock::SingleServerLock waiter = make_lock("u:2");
    const auto answer = waiter.try_acquire(client, lock::Join::no);
    REQUIRE(std::holds_alternative<lock::Busy>(answer));
    CHECK(std::get<lock::Busy>(answer).owner == "u:1");
    CHECK_FALSE(std::get<lock::Busy>(answer).ttl);
    server.command({"DEL", "job"});
    CHECK(std::holds_alternative<lock::Hold>(waiter.try_acquire(client, lock::Join::no)));
    CHECK(server.command({"HGET", "job", "u:2"}) == "1");
  }
}

TEST_CASE("acquire: what stands in place of the side key is given no end") {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"SET", "rlock_info:{job}", "x"});
  for (const lock::KindOperations& operations :
       {lock::plain_operations("job"), lock::fair_operations("job", Milliseconds(15'000)),
        lock::simple_operations("job"), lock::read_write_operations("job", lock::Kind::read),
        lock::read_write_operations("job", lock::Kind::write)}) {
    CAPTURE(static_cast<int>(operations.kind));
    lock::SingleServerLock lock(operations, "u:1", lock::About{"web1", 42, "ann", "backup"},
                                Milliseconds(30'000));
    REQUIRE(std::holds_alternative<lock::Hold>(lock.try_acquire(client, lock::Join::no)));
    CHECK(lock.release(client, Milliseconds(20)) == lock::Release::still_held);
    CHECK(server.command({"PTTL", "rlock_info:{job}"}) == "-1");
    server.command({"DEL", "job", "{job}:u:1:rwlock_timeout:1"});
  }
  lock::SingleServerLock semaphore(lock::semaphore_operations("job", 2), "u:1",
                                   lock::About{"web1", 42, "ann", "backup"}, Milliseconds(30'000));
  CHECK_THROWS_AS(static_cast<void>(semaphore.try_acquire(client, lock::Join::no)), Error);
  CHECK(server.command({"PTTL", "rlock_info:{job}"}) == "-1");
}

TEST_CASE("acquire: several owners are a lock that somebody holds") {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"HSET", "job", "a:1", "1", "b:2", "1"});
  lock::SingleServerLock lock = make_lock("u:1");
  const auto answer = lock.try_acquire(client, lock::Join::no);
  REQUIRE(std::holds_alternative<lock::Busy>(answer));
  CHECK(std::get<lock::Busy>(answer).owner.empty());
}
