// acquire_simple.lua, and what release.lua, renew.lua and reenter.lua do with a string.
#include "lock/kinds/simple.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "redis/lock_fixture.hpp"
#include "redis/server_error.hpp"
#include "support/proxy.hpp"
#include "support/resp.hpp"
#include "support/script_calls.hpp"

using namespace rlock;
using lock::Busy;
using lock::Hold;
using lock::Join;
using lock::Release;
using lock::Renewal;
using lock::StandingWord;
using test::client_of;
using test::Words;
using std::string_literals::operator""s;

namespace {

lock::SingleServerLock make_simple(const std::string& owner,
                                   Milliseconds lease = Milliseconds(30'000)) {
  return {lock::simple_operations("job"), owner, lock::About{"web1", 42, "ann", "backup"}, lease};
}

bool takes(lock::SingleServerLock& lock, redis::Client& client) {
  return std::holds_alternative<Hold>(lock.try_acquire(client, Join::no));
}

// The script itself, for one hold `id`. Returns the first of its answer.
std::int64_t acquire(redis::Client& client, const std::string& owner, const std::string& id) {
  return client.run(test::acquire_simple_call(owner, id)).as_array(1)[0].as_integer();
}

std::int64_t release(redis::Client& client, const std::string& owner, const std::string& id,
                     StandingWord standing) {
  auto call = test::release_call(owner, id);
  call.standing = standing;
  return client.run(call).as_array(1)[0].as_integer();
}

}  // namespace

TEST_CASE("simple: a free lock is a string with the owner for its value, and a TTL") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock lock = make_simple("u:1");
  const auto answer = lock.try_acquire(client, Join::no);
  REQUIRE(std::holds_alternative<Hold>(answer));
  CHECK(std::get<Hold>(answer).count == 1);
  CHECK(server.command({"GET", "job"}) == "u:1");
  for (const char* key : {"job", "rlock_info:{job}"}) {
    CHECK(pttl(server, key) > 0);
    CHECK(pttl(server, key) <= 30'000);
  }
  CHECK(server.keys() == Words{"job", "rlock_info:{job}"});
  CHECK(lock.release(client) == Release::freed);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("simple: a busy lock tells its holder, and is not touched") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock holder = make_simple("u:1");
  REQUIRE(takes(holder, client));
  const auto ask = [&] {
    const std::string before = server.command({"DUMP", "job"});
    const auto answer = make_simple("u:2").try_acquire(client, Join::no);
    REQUIRE(std::holds_alternative<Busy>(answer));
    CHECK(server.command({"DUMP", "job"}) == before);
    return std::get<Busy>(answer);
  };
  const Busy busy = ask();
  CHECK(busy.owner == "u:1");
  CHECK(busy.holder.host == "web1");
  CHECK(busy.held_for);
  REQUIRE(busy.ttl);
  CHECK(*busy.ttl <= Milliseconds(30'000));

  const std::string binary = "\0\r\n\xff$1"s;
  server.command({"SET", "job", binary});
  CHECK(ask().owner == binary);
  CHECK(ask().holder.host.empty());
  CHECK_FALSE(ask().ttl);
  server.command({"SET", "job", std::string(100'000, 'x')});
  CHECK(ask().owner == "xxxxxxxx...");
}

TEST_CASE("simple: another kind of lock is refused and not touched") {
  test::Server server;
  redis::Client client = client_of(server);
  const std::vector<Words> makers = {{"HSET", "job", "u:1", "1"},
                                     {"HSET", "job", "mode", "read", "u:1", "1"},
                                     {"RPUSH", "job", "u:1"},
                                     {"ZADD", "job", "1", "u:1"}};
  for (const Words& maker : makers) {
    server.command({"DEL", "job"});
    server.command(maker);
    const std::string before = server.command({"DUMP", "job"});
    lock::SingleServerLock lock = make_simple("u:1");
    CHECK_THROWS_AS(takes(lock, client), Error);
    CHECK(server.command({"DUMP", "job"}) == before);
  }
  CHECK(server.keys() == Words{"job"});
}

TEST_CASE("simple: a number is a lock's value like any other, unless it counts permits") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock lock = make_simple("u:1");
  server.command({"SET", "job", "5", "PX", "30000"});
  CHECK_FALSE(takes(lock, client));
  SUBCASE("of which one is out") { server.command({"ZADD", "{job}:timeout", "9e12", "p"}); }
  SUBCASE("which rlock has made") { server.command({"HSET", "rlock_info:{job}", "permits", "5"}); }
  CHECK_THROWS_AS((void)takes(lock, client), Error);
  CHECK(server.command({"GET", "job"}) == "5");
}

// One of several servers, that may have forgotten a lock which is still held.
TEST_CASE("simple: a server that started too short a time ago grants nothing, and says so") {
  test::Server server;
  redis::Client client = client_of(server);
  const auto ask = [&](Milliseconds up_for) {
    auto call = test::acquire_simple_call("u:1", "a");
    call.restart_delay = up_for;
    return client.run(call).as_array(1)[0].as_integer();
  };
  CHECK(ask(Milliseconds(86'400'000)) == 5);
  CHECK(server.keys().empty());
  CHECK(ask(Milliseconds(0)) == 1);
}

TEST_CASE("S6: acquire of a string sent again finds its own value" * doctest::test_suite("S6")) {
  test::Server server;
  redis::Client client = client_of(server);
  for (int i = 0; i < 3; ++i) CHECK(acquire(client, "u:1", "a") == 1);
  CHECK(server.command({"GET", "job"}) == "u:1");
  CHECK(acquire(client, "u:2", "b") == 0);
  // One whose lease was all but over is extended.
  server.command({"PEXPIRE", "job", "3000"});
  REQUIRE(acquire(client, "u:1", "a") == 1);
  CHECK(pttl(server) > 3000);
}

TEST_CASE("S6: acquire of a string that comes after its own release takes nothing" *
          doctest::test_suite("S6")) {
  test::Server server;
  redis::Client client = client_of(server);
  for (const auto& [standing, answer] :
       {std::pair(StandingWord("unproven"), 2), std::pair(StandingWord("granted"), 1)}) {
    REQUIRE(acquire(client, "u:1", "a") == 1);
    REQUIRE(release(client, "u:1", "a", standing) == answer);
    CHECK(acquire(client, "u:1", "a") == 2);
    server.command({"FLUSHALL"});
  }
}

TEST_CASE("release: a string of the owner's is deleted, and the waiters are told") {
  test::Server server;
  redis::Client client = client_of(server);
  test::RespClient listener = server.connect();
  listener.call({"SUBSCRIBE", "redisson_lock__channel:{job}"});
  server.command({"SET", "job", "u:1"});
  CHECK(test::make_lock("u:1").release(client) == Release::freed);
  CHECK(listener.call({"PING"}) == Words{"message", "redisson_lock__channel:{job}", "0"});
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("release: with a time to keep it, a string stays until then and nobody is told") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock lock = make_simple("u:1");
  REQUIRE(takes(lock, client));
  CHECK(lock.release(client, Milliseconds(600'000)) == Release::still_held);
  CHECK(server.command({"GET", "job"}) == "u:1");
  CHECK(pttl(server) > 30'000);
}

TEST_CASE("S5: release and renew of a string that is not ours change nothing" *
          doctest::test_suite("S5")) {
  test::Server server;
  redis::Client client = client_of(server);
  for (const std::string& value : {"u:1 "s, "u:"s, ""s, "u:1\0"s, "U:1"s, "\xff"s}) {
    server.command({"SET", "job", value, "PX", "50000"});
    const std::string before = server.command({"DUMP", "job"});
    lock::SingleServerLock lock = make_simple("u:1", Milliseconds(600'000));
    CHECK(lock.renew(client) == Renewal::lost);
    CHECK(lock.ask(client) == Renewal::lost);
    CHECK_FALSE(lock.reenter(client));
    CHECK(lock.release(client) == Release::not_held);
    CHECK(server.command({"DUMP", "job"}) == before);
    CHECK(pttl(server) <= 50'000);
  }
  server.command({"DEL", "job"});
  CHECK(make_simple("u:1").renew(client) == Renewal::lost);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("renew: extends a string and what is told of its owner, and never shortens it") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock lock = make_simple("u:1");
  REQUIRE(takes(lock, client));
  CHECK(test::make_lock("u:1", Milliseconds(600'000)).renew(client) == Renewal::renewed);
  CHECK(pttl(server) > 30'000);
  CHECK(pttl(server, "rlock_info:{job}") > 30'000);
  CHECK(lock.renew(client) == Renewal::renewed);
  CHECK(pttl(server) > 30'000);
  CHECK(server.command({"GET", "job"}) == "u:1");
}

TEST_CASE("a full server still renews and releases strings, and grants none") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock lock = make_simple("u:1");
  REQUIRE(takes(lock, client));
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  server.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  server.command({"PEXPIRE", "job", "5000"});
  CHECK(lock.renew(client) == Renewal::renewed);
  CHECK(pttl(server) > 5000);
  CHECK(make_simple("u:1").reenter(client));
  CHECK(lock.release(client) == Release::freed);
  CHECK(server.command({"EXISTS", "job"}) == "0");
  CHECK_THROWS_AS(takes(lock, client), Error);
  CHECK(server.command({"EXISTS", "job"}) == "0");
}

TEST_CASE("reenter: a string counts no holds, and stays with the outer one") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock outer = make_simple("u:1", Milliseconds(5000));
  REQUIRE(takes(outer, client));
  const auto check_inner = [&](lock::SingleServerLock& inner) {
    const auto lease = inner.reenter(client);
    REQUIRE(lease);
    CHECK(lease->count == 1);
    CHECK(pttl(server) > 5000);
    CHECK(inner.release(client) == Release::still_held);
    CHECK(server.command({"GET", "job"}) == "u:1");
  };
  lock::SingleServerLock inner = make_simple("u:1");
  check_inner(inner);
  // Also for one who did not say that it is a string.
  lock::SingleServerLock plain = test::make_lock("u:1");
  check_inner(plain);
  CHECK(server.keys() == Words{"job", "rlock_info:{job}"});

  REQUIRE(inner.reenter(client));
  CHECK(outer.release(client) == Release::freed);
  CHECK(inner.release(client) == Release::not_held);
}

TEST_CASE("S5: a re-entry that the server never saw is not given back" *
          doctest::test_suite("S5")) {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"HSET", "job", "u:1", "1"});
  CHECK(release(client, "u:1", "a", "unproven") == 2);
  CHECK(server.list({"HGETALL", "job"}) == Words{"u:1", "1"});
  server.command({"DEL", "job"});
  server.command({"SET", "job", "u:1"});
  CHECK(release(client, "u:1", "b", "unproven") == 2);
  CHECK(server.command({"GET", "job"}) == "u:1");
  server.command({"DEL", "job"});
  server.command({"HSET", "job", "u:1", "1"});

  test::Proxy proxy(server.port());
  redis::ClientOptions options;
  options.endpoint = redis::parse_url(proxy.url());
  options.timeout = Milliseconds(300);
  redis::Client unlucky(options);
  lock::SingleServerLock inner = test::make_lock("u:1");
  proxy.set_mode(test::Mode::blackhole);
  CHECK_THROWS_AS((void)inner.reenter(unlucky), redis::Unavailable);
  proxy.cut();  // the request is gone
  proxy.set_mode(test::Mode::pass);
  unlucky.disconnect();
  inner.abandon(unlucky);
  CHECK(server.list({"HGETALL", "job"}) == Words{"u:1", "1"});
}
