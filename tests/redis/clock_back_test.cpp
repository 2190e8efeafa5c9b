// A server's clock that is set back: whatever has an expiry or a moment then lasts longer by that
// time.
#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "lock/inspection/repair.hpp"
#include "lock/inspection/snapshot.hpp"
#include "lock/kinds/read_write.hpp"
#include "lock/kinds/simple.hpp"
#include "redis/fair_fixture.hpp"
#include "redis/semaphore_fixture.hpp"

using namespace rlock;
using test::client_of;
using test::k_info;
using test::k_queue;
using test::pttl;
using test::Words;

namespace {

constexpr long k_back = 3'600'000;
constexpr Milliseconds k_lease{30'000};
constexpr Milliseconds k_long_lease{600'000};
const std::string k_permits = "{job}:timeout";

// The same as setting the clock back, for all that is compared with it.
void set_back(const test::Server& server) {
  for (const std::string& key : server.keys()) {
    const long left = pttl(server, key);
    if (left >= 0) server.command({"PEXPIRE", key, std::to_string(left + k_back)});
  }
  if (server.command({"EXISTS", k_permits}) == "0") return;
  for (const std::string& owner : server.list({"ZRANGE", k_permits, "0", "-1"})) {
    server.command({"ZINCRBY", k_permits, std::to_string(k_back), owner});
  }
}

std::vector<lock::KindOperations> all_operations() {
  return {lock::plain_operations("job"),
          lock::fair_operations("job", lua::k_our_wait),
          lock::simple_operations("job"),
          lock::read_write_operations("job", lock::Kind::read),
          lock::read_write_operations("job", lock::Kind::write),
          lock::semaphore_operations("job", 1)};
}

// Returns how long the hold of "u:1" lasts: the latest of the lock's end and those of its parts.
long lasts(const test::Server& server, lock::Kind kind) {
  if (kind == lock::Kind::semaphore) {
    return static_cast<long>(test::semaphore::end_of(server, "u:1") - test::semaphore::now(server));
  }
  long longest = pttl(server);
  for (const std::string& key : server.keys()) {
    if (key.find("rwlock_timeout") != std::string::npos)
      longest = std::max(longest, pttl(server, key));
  }
  return longest;
}

lock::SingleServerLock make(const lock::KindOperations& operations, Milliseconds lease = k_lease,
                            const std::string& owner = "u:1") {
  return {operations, owner, lock::About{"web1", 42, "ann", "backup"}, lease};
}

bool takes(lock::SingleServerLock& lock, redis::Client& client) {
  return std::holds_alternative<lock::Hold>(lock.try_acquire(client, lock::Join::no));
}

}  // namespace

TEST_CASE("clock set back: a renewal leaves no more than the longest lease that was asked for") {
  test::Server server;
  redis::Client client = client_of(server);
  for (const lock::KindOperations& operations : all_operations()) {
    CAPTURE(static_cast<int>(operations.kind));
    server.command({"FLUSHALL"});
    lock::SingleServerLock outer = make(operations);
    REQUIRE(takes(outer, client));
    set_back(server);
    REQUIRE(lasts(server, operations.kind) > k_back);
    CHECK(outer.renew(client) == lock::Renewal::renewed);
    CHECK(lasts(server, operations.kind) <= k_lease.count());
    const long rests = operations.kind == lock::Kind::semaphore ? test::semaphore::k_day : 0;
    CHECK(pttl(server, k_info) <= rests + lua::k_longest_silence.count());

    lock::SingleServerLock inner = make(operations, k_long_lease);
    REQUIRE(inner.reenter(client));
    CHECK(outer.renew(client) == lock::Renewal::renewed);
    CHECK(lasts(server, operations.kind) > k_lease.count());
    set_back(server);
    CHECK(outer.renew(client) == lock::Renewal::renewed);
    CHECK(lasts(server, operations.kind) > k_lease.count());
    CHECK(lasts(server, operations.kind) <= k_long_lease.count());
  }
}

// It can be Redisson's, or that of acquire --no-watchdog with a long lease.
TEST_CASE("a renewal shortens no lease of which the side key does not tell") {
  test::Server server;
  redis::Client client = client_of(server);
  for (const lock::KindOperations& operations : all_operations()) {
    CAPTURE(static_cast<int>(operations.kind));
    server.command({"FLUSHALL"});
    lock::SingleServerLock longer = make(operations, k_long_lease);
    REQUIRE(takes(longer, client));
    server.command({"HDEL", k_info, "u:1", "u:1:write"});
    CHECK(make(operations).renew(client) == lock::Renewal::renewed);
    CHECK(lasts(server, operations.kind) > k_lease.count());
  }
}

TEST_CASE("clock set back: renew --owner with a longer lease stands, and others' readers do") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock plain = make(lock::plain_operations("job"));
  REQUIRE(takes(plain, client));
  CHECK(make(lock::plain_operations("job"), k_long_lease).renew(client) == lock::Renewal::renewed);
  for (int i = 0; i < 2; ++i) CHECK(plain.renew(client) == lock::Renewal::renewed);
  CHECK(pttl(server) > k_lease.count());

  server.command({"FLUSHALL"});
  const lock::KindOperations read = lock::read_write_operations("job", lock::Kind::read);
  lock::SingleServerLock reader = make(read);
  lock::SingleServerLock other = make(read, k_long_lease, "u:2");
  REQUIRE(takes(reader, client));
  REQUIRE(takes(other, client));
  server.command({"PEXPIRE", "{job}:u:1:rwlock_timeout:1", std::to_string(k_back)});
  server.command({"PEXPIRE", "job", std::to_string(k_back)});
  CHECK(reader.renew(client) == lock::Renewal::renewed);
  CHECK(pttl(server, "{job}:u:1:rwlock_timeout:1") <= k_lease.count());
  for (const char* key : {"job", "{job}:u:2:rwlock_timeout:1"}) {
    CHECK(pttl(server, key) > k_lease.count());
    CHECK(pttl(server, key) <= k_long_lease.count());
  }
}

TEST_CASE("clock set back: the side key lasts as long as the last holder of a lock") {
  test::Server server;
  redis::Client client = client_of(server);
  SUBCASE("readers") {}
  SUBCASE("permits of another client's semaphore") { server.command({"SET", "job", "2"}); }
  const bool reads = server.command({"EXISTS", "job"}) == "0";
  const lock::KindOperations operations = reads
                                              ? lock::read_write_operations("job", lock::Kind::read)
                                              : lock::semaphore_operations("job", 2);
  lock::SingleServerLock first = make(operations), second = make(operations, k_long_lease, "u:2");
  REQUIRE(takes(first, client));
  REQUIRE(takes(second, client));
  set_back(server);
  CHECK(first.renew(client) == lock::Renewal::renewed);
  CHECK(pttl(server, k_info) > k_long_lease.count());
  CHECK(second.renew(client) == lock::Renewal::renewed);
  CHECK(pttl(server, k_info) <= k_long_lease.count());
  CHECK(pttl(server, k_info) > k_lease.count());
}

TEST_CASE("clock set back: --at-least keeps the lock for as long as was asked, and no longer") {
  test::Server server;
  redis::Client client = client_of(server);
  const Milliseconds keep{90'000};
  lock::SingleServerLock outer = make(lock::plain_operations("job"));
  lock::SingleServerLock inner = make(lock::plain_operations("job"));
  REQUIRE(takes(outer, client));
  REQUIRE(inner.reenter(client));
  CHECK(inner.release(client, keep) == lock::Release::still_held);
  set_back(server);
  auto told = nlohmann::json::parse(server.command({"HGET", k_info, "u:1"}));
  told["kept"] = told.at("kept").get<long long>() + k_back;
  server.command({"HSET", k_info, "u:1", told.dump()});
  CHECK(outer.renew(client) == lock::Renewal::renewed);
  CHECK(pttl(server) > k_lease.count());
  CHECK(pttl(server) <= keep.count());
  CHECK(outer.release(client) == lock::Release::still_held);
  CHECK(pttl(server) > k_lease.count());
  CHECK(pttl(server) <= keep.count());
}

TEST_CASE("clock set back: a head whose call lies in the future is called anew, and dropped") {
  test::FairFixture f;
  f.hold_by_other();
  f.line_up({"u:1", "u:2"});
  test::let_go(f.server);
  CHECK_FALSE(f.asks(f.locks[1]));  // calls the head
  test::date_back_call(f.server, Milliseconds(-k_back));
  CHECK_FALSE(f.asks(f.locks[1]));
  test::date_back_call(f.server, lua::k_time_to_come + Milliseconds(1));
  CHECK(f.asks(f.locks[1]));
}

TEST_CASE("clock set back: repair removes a waiter that is due later than any can be") {
  test::FairFixture f;
  f.hold_by_other();
  f.line_up({"u:1", "u:2"});
  auto told = nlohmann::json::parse(f.server.command({"HGET", k_info, "u:1"}));
  told["due"] = told.at("due").get<long long>() + k_back;
  f.server.command({"HSET", k_info, "u:1", told.dump()});
  const auto fixes =
      lock::repair(f.client, lock::take_snapshot(f.client, "job"), {}, lock::Repair::repair);
  REQUIRE(fixes.size() == 1);
  CHECK(fixes[0].code == lock::Fix::k_dead_waiter);
  CHECK(test::queue(f.server) == Words{"u:2"});
}
