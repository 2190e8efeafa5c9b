// Nested runs that share a permit: reenter_semaphore.lua.
#include <doctest/doctest.h>

#include "redis/lock_fixture.hpp"
#include "redis/semaphore_fixture.hpp"
#include "support/proxy.hpp"
#include "support/resp.hpp"
#include "support/script_calls.hpp"
#include "support/words.hpp"

using namespace rlock;
using namespace rlock::test::semaphore;
using lock::Hold;
using lock::Release;
using lock::Renewal;
using test::client_of;
using test::has;

TEST_CASE("semaphore: nested runs share the permit, which the last one gives back") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock outer = make_semaphore("u:1", 2);
  lock::SingleServerLock inner = make_semaphore("u:1", 2, Milliseconds(60'000));
  lock::SingleServerLock third = make_semaphore("u:1", 2);
  CHECK_FALSE(inner.reenter(client));
  REQUIRE(takes(outer, client));
  SUBCASE("with memory") {}
  SUBCASE("without") { server.command({"CONFIG", "SET", "maxmemory", "1"}); }
  const long long before = now(server);
  const auto lease = inner.reenter(client);
  REQUIRE(lease);
  CHECK(lease->count == 2);
  CHECK(end_of(server, "u:1") >= before + 60'000);
  REQUIRE(third.reenter(client));
  CHECK(server.command({"GET", "job"}) == "1");
  CHECK(outer.release(client) == Release::still_held);
  CHECK(third.release(client) == Release::still_held);
  CHECK(server.command({"GET", "job"}) == "1");
  CHECK(inner.renew(client) == Renewal::renewed);
  CHECK(inner.release(client) == Release::freed);
  CHECK(inner.release(client) == Release::not_held);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("semaphore: S6: a nested run that asks again counts once, and so does its release" *
          doctest::test_suite("S6")) {
  test::Server server;
  test::Proxy proxy(server.port());
  redis::ClientOptions options;
  options.endpoint = redis::parse_url(proxy.url());
  redis::Client client(options);
  lock::SingleServerLock outer = make_semaphore("u:1", 2);
  lock::SingleServerLock inner = make_semaphore("u:1", 2);
  lock::SingleServerLock third = make_semaphore("u:1", 2);
  REQUIRE(takes(outer, client));
  proxy.cut_after_next_request("u:1");
  const auto lease = inner.reenter(client);
  REQUIRE(proxy.cuts() == 1);
  REQUIRE(lease);
  CHECK(lease->count == 2);
  REQUIRE(third.reenter(client));
  proxy.cut_after_next_request("u:1");
  CHECK(third.release(client) == Release::still_held);
  REQUIRE(proxy.cuts() == 2);
  CHECK_FALSE(third.reenter(client));
  CHECK(outer.release(client) == Release::still_held);
  CHECK(inner.release(client) == Release::freed);
}

TEST_CASE("semaphore: where nested runs cannot be counted, the outer one gives the permit back") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock outer = make_semaphore("u:1", 2);
  lock::SingleServerLock inner = make_semaphore("u:1", 2);
  REQUIRE(takes(outer, client));
  bool is_lost = false;
  SUBCASE("the side key cannot be written") {
    server.command({"DEL", k_info});
    server.command({"SET", k_info, "text"});
  }
  SUBCASE("it is lost") { is_lost = true; }
  const auto hold = inner.reenter(client);
  REQUIRE(hold);
  CHECK((hold->standing == Hold::Standing::nested) != is_lost);
  if (is_lost) server.command({"DEL", k_info});
  CHECK(inner.release(client) == Release::still_held);
  CHECK(end_of(server, "u:1") > now(server));
  CHECK(server.command({"GET", "job"}) == "1");
  CHECK(outer.release(client) == Release::freed);
  CHECK(server.command({"EXISTS", "job", k_permits}) == "0");
}

TEST_CASE("semaphore: a nested run that asks again, and whose count was lost, has one hold") {
  test::Server server;
  redis::Client client = client_of(server);
  REQUIRE(takes(client, "u:1", 2));
  const auto reenters = [&] {
    const lock::KeyNames& keys = test::k_job;
    const auto reply = client.run(lua::reenter_semaphore::Call{.lock = keys.lock,
                                                               .latch = keys.latch("a"),
                                                               .info = keys.info,
                                                               .permits = keys.permits,
                                                               .lease = Milliseconds(30'000),
                                                               .owner = "u:1",
                                                               .memory = Milliseconds(30'000)});
    CHECK(reply.as_array(1)[0].as_integer() == 1);
    return reply.as_array(2)[1].as_integer();
  };
  CHECK(reenters() == 2);
  server.command({"DEL", k_info});
  CHECK(reenters() == 1);
  CHECK(server.command({"GET", "job"}) == "1");
}
