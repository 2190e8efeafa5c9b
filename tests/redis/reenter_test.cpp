// reenter.lua
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "redis/lock_fixture.hpp"
#include "support/script_calls.hpp"

using namespace rlock;
using test::client_of;
using test::make_lock;
using test::Words;

namespace {

std::vector<redis::Reply> reenter(redis::Client& client, const std::string& id) {
  return client.run(test::reenter_call("u:1", id)).as_array(1);
}

}  // namespace

TEST_CASE("reenter: each hold counts one more, and leaves a long lease as it is") {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"HSET", "job", "u:1", "1"});
  server.command({"PEXPIRE", "job", "600000"});
  lock::SingleServerLock second = make_lock("u:1");
  lock::SingleServerLock third = make_lock("u:1");
  CHECK(second.reenter(client)->count == 2);
  CHECK(third.reenter(client)->count == 3);
  CHECK(pttl(server) > 30'000);
  CHECK(third.release(client) == lock::Release::still_held);
  CHECK(second.release(client) == lock::Release::still_held);
  CHECK(server.list({"HGETALL", "job"}) == Words{"u:1", "1"});
}

TEST_CASE("reenter: extends a lease that is shorter than its own") {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"HSET", "job", "u:1", "1"});
  server.command({"PEXPIRE", "job", "5000"});
  lock::SingleServerLock inner = make_lock("u:1", Milliseconds(60'000));
  CHECK(inner.reenter(client));
  CHECK(pttl(server) > 5000);
}

TEST_CASE("reenter: a lock without an expiry gets none, which the outer hold may count on") {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"HSET", "job", "u:1", "1"});
  lock::SingleServerLock inner = make_lock("u:1");
  CHECK(inner.reenter(client));
  CHECK(pttl(server) == -1);
}

TEST_CASE("reenter: who does not hold the lock gets nothing and changes nothing") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock lock = make_lock("u:1");
  CHECK_FALSE(lock.reenter(client));
  CHECK(server.keys().empty());
  const std::vector<Words> makers = {{"HSET", "job", "u:2", "1"}, {"SET", "job", "u:2"}};
  for (const Words& maker : makers) {
    server.command({"DEL", "job"});
    server.command(maker);
    const std::string before = server.command({"DUMP", "job"});
    CHECK_FALSE(lock.reenter(client));
    CHECK(server.command({"DUMP", "job"}) == before);
  }
  CHECK(server.keys() == Words{"job"});
}

TEST_CASE("S6: reenter sent again counts once, and not after its release" *
          doctest::test_suite("S6")) {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"HSET", "job", "u:1", "1"});
  for (int i = 0; i < 3; ++i) CHECK(reenter(client, "a")[1].as_integer() == 2);
  CHECK(server.command({"HGET", "job", "u:1"}) == "2");
  const auto released = client.run(test::release_call("u:1", "a"));
  CHECK(released.as_array(1)[0].as_integer() == 0);
  CHECK(reenter(client, "a")[0].as_integer() == 2);
  CHECK(server.command({"HGET", "job", "u:1"}) == "1");
}

// A hold that is not known any longer would be counted a second time when its request comes again.
TEST_CASE("S6: reenter: of more holds than are noted the first is forgotten" *
          doctest::test_suite("S6")) {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"HSET", "job", "u:1", "1"});
  constexpr int k_holds = 103;
  constexpr int k_noted = 100;
  for (int i = 1; i <= k_holds; ++i) {
    const std::string id = "h" + std::to_string(i);
    CHECK(reenter(client, id)[1].as_integer() == i + 1);
    server.command({"DEL", "redisson_unlock_latch:{job}:" + id});  // as when its time is over
  }
  for (int i = k_holds; i > k_holds - k_noted; --i) {
    CAPTURE(i);
    CHECK(reenter(client, "h" + std::to_string(i))[1].as_integer() == k_holds + 1);
  }
  CHECK(reenter(client, "h1")[1].as_integer() == k_holds + 2);
}
