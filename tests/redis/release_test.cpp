// release.lua
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "redis/lock_fixture.hpp"
#include "support/resp.hpp"
#include "support/script_calls.hpp"

using namespace rlock;
using test::client_of;
using test::make_lock;
using test::Words;

namespace {

std::int64_t release(redis::Client& client, const std::string& owner, const std::string& id,
                     Milliseconds keep = Milliseconds(0)) {
  auto call = test::release_call(owner, id);
  call.keep = keep;
  return client.run(call).as_array(1)[0].as_integer();
}

}  // namespace

TEST_CASE("release: the last hold frees the lock, tells the waiters and leaves nothing") {
  test::Server server;
  redis::Client client = client_of(server);
  test::RespClient listener = server.connect();
  listener.call({"SUBSCRIBE", "redisson_lock__channel:{job}"});
  lock::SingleServerLock lock = make_lock("u:1");
  REQUIRE(std::holds_alternative<lock::Hold>(lock.try_acquire(client, lock::Join::no)));
  CHECK(lock.release(client) == lock::Release::freed);
  CHECK(listener.call({"PING"}) == Words{"message", "redisson_lock__channel:{job}", "0"});
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("release: one of several holds leaves the lock and tells nobody") {
  test::Server server;
  redis::Client client = client_of(server);
  test::RespClient listener = server.connect();
  listener.call({"SUBSCRIBE", "redisson_lock__channel:{job}"});
  server.command({"HSET", "job", "u:1", "2"});
  server.command({"PEXPIRE", "job", "600000"});
  lock::SingleServerLock lock = make_lock("u:1");
  CHECK(lock.release(client) == lock::Release::still_held);
  CHECK(server.list({"HGETALL", "job"}) == Words{"u:1", "1"});
  CHECK(pttl(server) > 30'000);
  CHECK(listener.call({"PING"}) == Words{"pong", ""});
}

TEST_CASE("S5: release by another owner changes nothing" * doctest::test_suite("S5")) {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"HSET", "job", "u:1", "1"});
  const std::string before = server.command({"DUMP", "job"});
  lock::SingleServerLock lock = make_lock("u:2");
  CHECK(lock.release(client) == lock::Release::not_held);
  CHECK(server.command({"DUMP", "job"}) == before);
  server.command({"DEL", "job"});
  CHECK(lock.release(client) == lock::Release::not_held);
  for (const Words& maker : {Words{"SET", "job", "u:1"}, Words{"LPUSH", "job", "u:2"}}) {
    server.command({"DEL", "job"});
    server.command(maker);
    CHECK(make_lock("u:2").release(client) == lock::Release::not_held);
    CHECK(server.command({"EXISTS", "job"}) == "1");
  }
}

TEST_CASE(
    "S5: a field of an application's hash is no hold: it is not released, renewed or re-entered" *
    doctest::test_suite("S5")) {
  test::Server server;
  redis::Client client = client_of(server);
  const std::vector<Words> makers = {{"HSET", "job", "name", "5", "other", "x"},
                                     {"HSET", "job", "name", "1"},
                                     {"HSET", "job", "name", "text"},
                                     {"HSET", "job", "name:1", "text"}};
  for (const Words& maker : makers) {
    CAPTURE(maker);
    server.command({"DEL", "job"});
    server.command(maker);
    server.command({"PEXPIRE", "job", "10000"});
    const std::string before = server.command({"DUMP", "job"});
    lock::SingleServerLock lock = make_lock(maker[2]);
    CHECK(lock.release(client) == lock::Release::not_held);
    CHECK(release(client, maker[2], "a") == 2);
    CHECK(lock.renew(client) == lock::Renewal::lost);
    CHECK_FALSE(make_lock(maker[2]).reenter(client));
    CHECK(server.command({"DUMP", "job"}) == before);
    CHECK(pttl(server) <= 10'000);
  }
}

TEST_CASE("S6: release sent again by the same hold counts once and answers the same" *
          doctest::test_suite("S6")) {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"HSET", "job", "u:1", "3"});
  server.command({"PEXPIRE", "job", "600000"});
  for (int i = 0; i < 3; ++i) CHECK(release(client, "u:1", "a") == 0);
  CHECK(server.command({"HGET", "job", "u:1"}) == "2");
  CHECK(release(client, "u:1", "b") == 0);
  for (int i = 0; i < 3; ++i) CHECK(release(client, "u:1", "c") == 1);
  CHECK(server.command({"EXISTS", "job"}) == "0");
  // Also when the owner holds it again meanwhile, by another hold.
  server.command({"HSET", "job", "u:1", "1"});
  CHECK(release(client, "u:1", "c") == 1);
  CHECK(server.command({"HGET", "job", "u:1"}) == "1");
  for (const std::string& key : server.keys()) {
    if (key != "job") CHECK(pttl(server, key) > 0);
  }
}

TEST_CASE("release: with a time to keep it, the lock stays until then and nobody is told") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock lock = make_lock("u:1");
  REQUIRE(std::holds_alternative<lock::Hold>(lock.try_acquire(client, lock::Join::no)));
  lock.release(client, Milliseconds(600'000));
  CHECK(server.list({"HGETALL", "job"}) == Words{"u:1", "1"});
  CHECK(pttl(server) > 30'000);
  // Whoever gives it back last: the latest time counts.
  CHECK(release(client, "u:1", "z", Milliseconds(5000)) == 0);
  CHECK(pttl(server) > 30'000);
}

TEST_CASE("release: a time to keep it that is shorter than the lease shortens what is left") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock lock = make_lock("u:1");
  REQUIRE(std::holds_alternative<lock::Hold>(lock.try_acquire(client, lock::Join::no)));
  server.command({"PEXPIRE", "job", "600000"});
  lock.release(client, Milliseconds(5000));
  CHECK(server.list({"HGETALL", "job"}) == Words{"u:1", "1"});
  CHECK(pttl(server) <= 5000);
}

TEST_CASE(
    "S6: release: that one hold of several has ended is known as long as it may be sent again" *
    doctest::test_suite("S6")) {
  test::Server server;
  redis::Client client = client_of(server);
  auto call = test::release_call("u:1", "a");
  call.memory = Milliseconds(300'000);
  SUBCASE("also where the lock ends sooner, and others know of the hold") {
    server.command({"HSET", "job", "u:1", "2"});
    server.command({"PEXPIRE", "job", "1000"});
    call.is_shared = true;
  }
  SUBCASE("also where the lock has no end") { server.command({"HSET", "job", "u:1", "2"}); }
  client.run(call);
  CHECK(server.command({"HGET", "job", "u:1"}) == "1");
  CHECK(pttl(server, "rlock_info:{job}") > 200'000);
}

// Each of them may be given back a second time, by another process that knows of it.
TEST_CASE("S6: release: of the holds that others know, the last thousand that ended are noted" *
          doctest::test_suite("S6")) {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"HSET", "job", "u:1", "2000"});
  server.command({"PEXPIRE", "job", "600000"});
  for (int i = 1; i <= 1003; ++i) {
    auto call = test::release_call("u:1", "h" + std::to_string(i));
    call.is_shared = true;
    client.run(call);
  }
  CHECK(server.command({"HGET", "job", "u:1"}) == "997");
  CHECK(server.command({"EVAL",
                        "local ended = cjson.decode(redis.call('hget', KEYS[1], 'u:1')).ended "
                        "return #ended .. ' from ' .. ended[1]",
                        "1", "rlock_info:{job}"}) == "1000 from h4");
}

TEST_CASE("release: other holders' fields in the hash stay") {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"HSET", "job", "u:1", "1", "u:2", "1"});
  server.command({"HSET", "rlock_info:{job}", "u:1", "{}", "u:2", "{}"});
  CHECK(release(client, "u:1", "a") == 1);
  CHECK(server.list({"HGETALL", "job"}) == Words{"u:2", "1"});
  CHECK(server.list({"HKEYS", "rlock_info:{job}"}) == Words{"u:2"});
}
