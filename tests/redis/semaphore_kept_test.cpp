// Permits that are kept for a while after their release.
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "redis/lock_fixture.hpp"
#include "redis/semaphore_fixture.hpp"
#include "support/resp.hpp"
#include "support/words.hpp"

using namespace rlock;
using namespace rlock::test::semaphore;
using lock::Release;
using lock::Renewal;
using test::client_of;
using test::has;

TEST_CASE("semaphore: what is to be kept ends by itself, sooner or later than the lease") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock semaphore = make_semaphore("u:1", 1);
  REQUIRE(takes(semaphore, client));
  std::int64_t keep = 10'000;
  SUBCASE("sooner") {}
  SUBCASE("later") { keep = 90'000; }
  const long long before = now(server);
  CHECK(semaphore.release(client, Milliseconds(keep)) == Release::still_held);
  CHECK(end_of(server, "u:1") >= before + keep);
  CHECK(end_of(server, "u:1") <= now(server) + keep);
  CHECK_FALSE(takes(client, "u:2", 1));
  end_soon(server, "u:1");
  CHECK(takes(client, "u:2", 1));
}

TEST_CASE("semaphore: what a nested run has kept is kept, whichever hold ends last") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock outer = make_semaphore("u:1", 1);
  lock::SingleServerLock inner = make_semaphore("u:1", 1);
  REQUIRE(takes(outer, client));
  REQUIRE(inner.reenter(client));
  constexpr std::int64_t k_keep = 90'000;
  const long long before = now(server);
  SUBCASE("the outer one") {
    CHECK(inner.release(client, Milliseconds(k_keep)) == Release::still_held);
    CHECK(end_of(server, "u:1") >= before + k_keep);  // also if nobody were there to end it
    CHECK(outer.release(client, Milliseconds(1000)) == Release::still_held);
  }
  SUBCASE("the inner one") {
    CHECK(outer.release(client, Milliseconds(k_keep)) == Release::still_held);
    CHECK(inner.release(client) == Release::still_held);
  }
  CHECK(end_of(server, "u:1") >= before + k_keep - 1000);
  CHECK(end_of(server, "u:1") <= now(server) + k_keep);
  CHECK_FALSE(takes(client, "u:2", 1));
}

TEST_CASE("semaphore: what a nested run keeps for long outlives what the keys had to go") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock outer = make_semaphore("u:1", 1);
  lock::SingleServerLock inner = make_semaphore("u:1", 1);
  REQUIRE(takes(outer, client));
  REQUIRE(inner.reenter(client));
  const long keep = 3 * k_day;
  CHECK(inner.release(client, Milliseconds(keep)) == Release::still_held);
  for (const std::string& key : {std::string("job"), k_permits, k_info}) {
    CAPTURE(key);
    CHECK(pttl(server, key) > keep - 60'000);
  }
}

TEST_CASE("semaphore: a permit that is kept takes the keys along, unless somebody listens") {
  test::Server server;
  redis::Client client = client_of(server);
  constexpr Milliseconds k_keep{60'000};
  lock::SingleServerLock kept = make_semaphore("u:1", 2);
  lock::SingleServerLock other = make_semaphore("u:2", 2);
  test::RespClient listener = server.connect();
  const auto keys_last_at_most = [&](Milliseconds span) {
    for (const std::string& key : {std::string("job"), k_permits, k_info}) {
      CAPTURE(key);
      CHECK(pttl(server, key) <= span.count());
      CHECK(pttl(server, key) > span.count() - 30'000);
    }
  };
  SUBCASE("of the only holder") {
    REQUIRE(takes(kept, client));
    CHECK(kept.release(client, k_keep) == Release::still_held);
  }
  SUBCASE("of the first of two to end") {
    REQUIRE(takes(kept, client));
    REQUIRE(takes(other, client));
    CHECK(kept.release(client, k_keep) == Release::still_held);
    CHECK(other.renew(client) == Renewal::renewed);  // it may be killed: see below
    keys_last_at_most(Milliseconds(k_day) + k_keep);
    CHECK(other.release(client) == Release::freed);
  }
  SUBCASE("of one of two, who is awaited") {
    REQUIRE(takes(kept, client));
    REQUIRE(takes(other, client));
    listener.call({"SUBSCRIBE", k_channel});
    CHECK(kept.release(client, k_keep) == Release::still_held);
    keys_last_at_most(Milliseconds(k_day) + k_keep);
    CHECK(other.release(client) == Release::freed);
    keys_last_at_most(Milliseconds(k_day) + k_keep);
    listener.call({"UNSUBSCRIBE", k_channel});
    REQUIRE(takes(other, client));
    CHECK(other.release(client) == Release::freed);
  }
  keys_last_at_most(k_keep + Milliseconds(5000));
  // Until then all is as it was.
  CHECK(takes(client, "u:3", 2));
  CHECK_FALSE(takes(client, "u:4", 2));
  lock::SingleServerLock third = make_semaphore("u:3", 2);
  CHECK(third.release(client) == Release::freed);
  keys_last_at_most(k_keep + Milliseconds(5000));
}
