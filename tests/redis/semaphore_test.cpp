// acquire_semaphore.lua, reenter_semaphore.lua, renew_semaphore.lua and release_semaphore.lua.
#include "lock/kinds/semaphore/semaphore.hpp"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "lock/kinds/simple/simple.hpp"
#include "lock/make_lock.hpp"
#include "redis/lock_fixture.hpp"
#include "redis/refusal.hpp"
#include "support/proxy.hpp"
#include "support/resp.hpp"
#include "support/script_calls.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock;
using lock::Busy;
using lock::Hold;
using lock::Join;
using lock::Release;
using lock::Renewal;
using test::client_of;
using test::has;
using test::Words;

namespace {

const std::string k_permits = "{job}:timeout";
const std::string k_channel = "redisson_sc:{job}";
const std::string k_info = "rlock_info:{job}";
// A permit as Redisson names it, and the end of one that has none.
const std::string k_java = std::string("\0\x01\xfe\xff", 4) + "0123456789ab";
constexpr const char* k_never = "922337203685477";
constexpr long k_day = 86'400'000;

lock::SingleServerLock make_semaphore(const std::string& owner, int permits,
                                      Milliseconds lease = Milliseconds(30'000)) {
  return {lock::semaphore_layout("job", permits), owner, lock::About{"web1", 42, "ann", "backup"},
          lease};
}

bool takes(lock::SingleServerLock& lock, redis::Client& client) {
  return std::holds_alternative<Hold>(lock.try_acquire(client, Join::no));
}

// The same by a new owner who keeps his permit.
bool takes(redis::Client& client, const std::string& owner, int permits) {
  lock::SingleServerLock semaphore = make_semaphore(owner, permits);
  return takes(semaphore, client);
}

// Returns what is found in place of the lock.
std::string refusal(redis::Client& client, lock::SingleServerLock& lock) {
  return test::refusal_of<lock::InUse>([&] { return lock.try_acquire(client, Join::no); }).found;
}

long long now(const test::Server& server) {
  const Words time = server.list({"TIME"});
  return std::stoll(time[0]) * 1000 + std::stoll(time[1]) / 1000;
}

long long end_of(const test::Server& server, const std::string& owner) {
  return std::stoll(server.command({"ZSCORE", k_permits, owner}));
}

void end_soon(const test::Server& server, const std::string& owner) {
  server.command({"ZADD", k_permits, "1", owner});
}

// Returns how many there are altogether, as Redisson counts them.
int total(const test::Server& server) {
  return std::stoi(server.command({"GET", "job"})) +
         std::stoi(server.command({"ZCARD", k_permits}));
}

Words dump(const test::Server& server) {
  return {server.command({"DUMP", "job"}), server.command({"DUMP", k_permits})};
}

}  // namespace

TEST_CASE(
    "semaphore: a permit is in Redisson's layout, ends with its lease, and goes without trace") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock semaphore = make_semaphore("u:1", 3);
  const long long before = now(server);
  const auto answer = semaphore.try_acquire(client, Join::no);
  REQUIRE(std::holds_alternative<Hold>(answer));
  CHECK(std::get<Hold>(answer).count == 1);
  CHECK(server.command({"GET", "job"}) == "2");
  CHECK(server.command({"ZCARD", k_permits}) == "1");
  CHECK(end_of(server, "u:1") >= before + 30'000);
  CHECK(end_of(server, "u:1") <= now(server) + 30'000);
  CHECK(server.keys() == Words{"job", k_info, k_permits});
  for (const std::string& key : server.keys()) {
    CHECK(pttl(server, key) > k_day);
    CHECK(pttl(server, key) <= k_day + 30'000);
  }
  lock::Session session{lock::SessionOptions(client.options())};
  CHECK(lock::held_kind(session, "job", "u:1") == lock::Kind::semaphore);
  CHECK(semaphore.release(client) == Release::freed);
  CHECK(semaphore.release(client) == Release::not_held);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("semaphore: no more than its number have a permit, and who asks then is told of them") {
  test::Server server;
  redis::Client client = client_of(server);
  REQUIRE(takes(client, "u:1", 2));
  lock::SingleServerLock second = make_semaphore("u:2", 2, Milliseconds(10'000));
  REQUIRE(takes(second, client));
  CHECK(server.command({"GET", "job"}) == "0");
  server.command({"HSET", k_info, "u:1", R"({"host":"web1","pid":42,"since":1})"});
  const Words before = dump(server);
  const auto answer = make_semaphore("u:3", 2).try_acquire(client, Join::no);
  REQUIRE(std::holds_alternative<Busy>(answer));
  const Busy& busy = std::get<Busy>(answer);
  CHECK(busy.permits == 2);
  CHECK(busy.owner == "u:1");  // for longest
  CHECK(busy.holder.host == "web1");
  CHECK(busy.held_for);
  REQUIRE(busy.ttl);
  CHECK(*busy.ttl <= Milliseconds(10'000));  // the first to end
  CHECK_FALSE(busy.place);
  CHECK(dump(server) == before);
  CHECK(second.release(client) == Release::freed);
  CHECK(takes(client, "u:3", 2));
  CHECK_FALSE(takes(client, "u:2", 2));
}

TEST_CASE(
    "semaphore: what has ended is taken back at the next request, and the rest is announced") {
  test::Server server;
  redis::Client client = client_of(server);
  for (const char* owner : {"u:1", "u:2", "u:3"}) REQUIRE(takes(client, owner, 3));
  test::RespClient listener = server.connect();
  listener.call({"SUBSCRIBE", k_channel});
  end_soon(server, "u:1");
  end_soon(server, "u:3");
  REQUIRE(takes(client, "u:4", 3));
  CHECK(listener.call({"PING"}) == Words{"message", k_channel, "1"});
  CHECK(server.list({"ZRANGE", k_permits, "0", "-1"}) == Words{"u:2", "u:4"});
  CHECK(server.command({"GET", "job"}) == "1");
  CHECK(server.command({"HEXISTS", k_info, "u:1"}) == "0");
  CHECK(make_semaphore("u:1", 3).ask(client) == Renewal::lost);
  CHECK(make_semaphore("u:2", 3).ask(client) == Renewal::renewed);
}

TEST_CASE("semaphore: S6: a request that is sent again counts once") {
  test::Server server;
  test::Proxy proxy(server.port());
  redis::ClientOptions options;
  options.endpoint = redis::parse_url(proxy.url());
  redis::Client client(options);
  lock::SingleServerLock semaphore = make_semaphore("u:1", 3);
  proxy.cut_after_next_request("u:1");
  REQUIRE(takes(semaphore, client));
  REQUIRE(proxy.cuts() == 1);
  CHECK(server.command({"GET", "job"}) == "2");
  CHECK(takes(client, "u:2", 3));
  proxy.cut_after_next_request("u:1");
  CHECK(semaphore.release(client) == Release::freed);
  REQUIRE(proxy.cuts() == 2);
  CHECK(server.command({"GET", "job"}) == "2");
  CHECK(server.list({"ZRANGE", k_permits, "0", "-1"}) == Words{"u:2"});
  // The latch of a release bars what was under way before it.
  CHECK_THROWS_AS(static_cast<void>(takes(semaphore, client)), Error);
  CHECK(total(server) == 3);
}

TEST_CASE(
    "semaphore: a renewal moves the end of its own permit on, and finds out that it is lost") {
  test::Server server;
  redis::Client client = client_of(server);
  const lock::SingleServerLock semaphore = make_semaphore("u:1", 2, Milliseconds(60'000));
  CHECK(semaphore.renew(client) == Renewal::lost);
  CHECK(server.keys().empty());
  REQUIRE(takes(client, "u:1", 2));
  REQUIRE(takes(client, "u:2", 2));
  const long long others = end_of(server, "u:2");
  const long long before = now(server);
  SUBCASE("with memory") {}
  SUBCASE("without") { server.command({"CONFIG", "SET", "maxmemory", "1"}); }
  CHECK(semaphore.renew(client) == Renewal::renewed);
  CHECK(end_of(server, "u:1") >= before + 60'000);
  CHECK(pttl(server) > k_day + 50'000);
  CHECK(pttl(server, k_permits) > k_day + 50'000);
  CHECK(pttl(server, k_info) > k_day + 50'000);
  const long long end = end_of(server, "u:1");
  CHECK(make_semaphore("u:1", 2, Milliseconds(1000)).renew(client) == Renewal::renewed);
  CHECK(end_of(server, "u:1") == end);
  CHECK(end_of(server, "u:2") == others);
  lock::SingleServerLock other = make_semaphore("u:2", 2);
  CHECK(other.release(client) == Release::freed);
  CHECK(server.command({"GET", "job"}) == "1");
  server.command({"ZREM", k_permits, "u:1"});
  CHECK(semaphore.renew(client) == Renewal::lost);
  CHECK(server.command({"EXISTS", k_permits}) == "0");
}

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

TEST_CASE("semaphore: S6: a nested run that asks again counts once, and so does its release") {
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
  CHECK(server.command({"GET", "job"}) == "2");
  CHECK(server.command({"EXISTS", k_permits}) == "0");
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

TEST_CASE("semaphore: one whose side key cannot be written would have no end, and is not made") {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"SET", k_info, "text"});
  const auto refusal = test::refusal_of<lock::InUse>([&] { return takes(client, "u:1", 2); });
  CHECK(refusal.found == "string in place of its side key");
  CHECK(server.keys() == Words{k_info});
}

TEST_CASE("semaphore: one whose side key has lost its end is made anew after its last permit") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock outer = make_semaphore("u:1", 1), inner = make_semaphore("u:1", 1);
  REQUIRE(takes(outer, client));
  REQUIRE(inner.reenter(client));
  server.command({"PERSIST", k_info});
  SUBCASE("given back in time") {
    CHECK(outer.release(client) == Release::still_held);
    CHECK(inner.release(client) == Release::freed);
  }
  SUBCASE("ended by its lease") {
    end_soon(server, "u:1");
    CHECK(outer.release(client) == Release::not_held);
    CHECK(inner.release(client) == Release::not_held);
  }
  CHECK(takes(client, "u:2", 1));
}

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
  keys_last_at_most(k_keep);
  // Until then all is as it was.
  CHECK(takes(client, "u:3", 2));
  CHECK_FALSE(takes(client, "u:4", 2));
  lock::SingleServerLock third = make_semaphore("u:3", 2);
  CHECK(third.release(client) == Release::freed);
  keys_last_at_most(k_keep);
}

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

TEST_CASE(
    "semaphore: what is told of a holder lasts as long as its permit, if a request came twice") {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"SET", "job", "2"});  // of a service: only the lease keeps the side key
  lock::SingleServerLock semaphore = make_semaphore("u:1", 2), nested = make_semaphore("u:1", 2);
  const auto comes_again = [&](const auto& request) {
    request();
    server.command({"PEXPIRE", k_info, "5000"});
    request();
    CHECK(pttl(server, k_info) > 5000);
    CHECK(has(server.command({"HGET", k_info, "u:1"}), "web1"));
  };
  comes_again([&] { REQUIRE(takes(semaphore, client)); });
  comes_again([&] { REQUIRE(nested.reenter(client)); });
  CHECK(nested.release(client) == Release::still_held);
  CHECK(semaphore.release(client) == Release::freed);
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

TEST_CASE(
    "semaphore: what the name is in use for otherwise is refused and not touched, either way") {
  test::Server server;
  redis::Client client = client_of(server);
  const std::vector<Words> makers = {{"HSET", "job", "u:1", "1"},
                                     {"HSET", "job", "mode", "read", "u:1", "1"},
                                     {"SET", "job", "8f0dd3a5"},
                                     {"SET", "job", ""},
                                     {"SET", "job", "1.5"},
                                     {"SET", "job", "1 "},
                                     {"SET", "job", "12345678901234567890"},
                                     {"SET", "job", "1", "PX", "60000"},
                                     {"RPUSH", "job", "1"},
                                     {"SET", k_permits, "1"},
                                     {"RPUSH", k_permits, "u:1"}};
  for (const Words& maker : makers) {
    CAPTURE(maker[0]);
    CAPTURE(maker[2]);
    server.command({"FLUSHALL"});
    server.command(maker);
    const Words before = dump(server);
    lock::SingleServerLock semaphore = make_semaphore("u:1", 1);
    CHECK_FALSE(refusal(client, semaphore).empty());
    CHECK(semaphore.release(client) == Release::not_held);
    CHECK(semaphore.renew(client) == Renewal::lost);
    CHECK(dump(server) == before);
  }
  const auto check_refused = [&] {
    const Words before = dump(server);
    lock::SingleServerLock simple(lock::simple_layout("job", lock::Value::fresh), "u:3",
                                  lock::About{}, lock::Terms(Milliseconds(1000)));
    lock::SingleServerLock plain = test::make_lock("u:4");
    for (lock::SingleServerLock* other : std::vector<lock::SingleServerLock*>{&simple, &plain}) {
      CHECK_FALSE(refusal(client, *other).empty());
    }
    CHECK(dump(server) == before);
  };
  server.command({"FLUSHALL"});
  REQUIRE(takes(client, "u:1", 2));
  check_refused();
  server.command({"DEL", k_permits});  // the number and what rlock told of it
  check_refused();
  server.command({"FLUSHALL"});
  server.command({"SET", "job", "2"});
  REQUIRE(takes(client, "u:2", 2));
  check_refused();
}

TEST_CASE("semaphore: without memory a permit comes back all the same, and none is given out") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::SingleServerLock first = make_semaphore("u:1", 2);
  REQUIRE(takes(first, client));
  REQUIRE(takes(client, "u:2", 2));
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  CHECK(first.release(client) == Release::freed);
  CHECK(server.command({"GET", "job"}) == "1");
  const Words before = dump(server);
  CHECK_THROWS_AS(static_cast<void>(takes(client, "u:3", 2)), Error);
  CHECK(dump(server) == before);
}

TEST_CASE("semaphore: what is none is not broken as one") {
  test::Server server;
  redis::Client client = client_of(server);
  SUBCASE("an application's counter") { server.command({"SET", "job", "5"}); }
  SUBCASE("a text beside permits") {
    server.command({"SET", "job", "text"});
    server.command({"ZADD", k_permits, k_never, "u:1"});
  }
  SUBCASE("another kind of lock beside permits") {
    server.command({"HSET", "job", "u:1", "1"});
    server.command({"ZADD", k_permits, k_never, "u:1"});
  }
  const Words before = dump(server);
  using Task = decltype(lua::force_release_semaphore::Call::task);
  for (const Task task : {Task("look"), Task("only")}) {
    CAPTURE(task.text());
    const lock::KeyNames& keys = test::k_job;
    const auto reply =
        client.run(lua::force_release_semaphore::Call{.lock = keys.lock,
                                                      .info = keys.info,
                                                      .latch = keys.latch("a"),
                                                      .permits = keys.permits,
                                                      .memory = Milliseconds(30'000),
                                                      .channel = keys.semaphore_channel,
                                                      .task = task,
                                                      .expected = {}});
    CHECK(reply.as_array(2)[0].as_integer() == 3);
  }
  CHECK(dump(server) == before);
  CHECK(server.command({"EXISTS", "redisson_unlock_latch:{job}:a"}) == "0");
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
  const std::int64_t left_ms = lock::look_at(client, "job", lock::Breakable::lock).ttl_ms;
  CHECK(left_ms > 0);
  CHECK(left_ms <= 30'000);
  server.command({"ZADD", k_permits, k_never, k_java, "1", "ended"});
  server.command({"DECRBY", "job", "2"});
  REQUIRE(total(server) == 3);
  const std::string digits = "0001feff303132333435363738396162";
  const auto seen = lock::look_at(client, "job", lock::Breakable::lock);
  REQUIRE(seen.holders.size() == 2);
  CHECK(seen.holders[0].owner == "u:1");
  CHECK(seen.holders[1].owner == digits);
  CHECK(seen.ttl_ms == -1);
  const auto left = lock::break_lock(client, "job", lock::Breakable::lock, Words{"u:1"});
  CHECK(left.outcome == lock::Breaking::Outcome::held_by_others);
  REQUIRE(total(server) == 3);
  test::RespClient listener = server.connect();
  listener.call({"SUBSCRIBE", k_channel});
  proxy.cut_after_next_request("redisson_sc");
  const auto broken = lock::break_lock(client, "job", lock::Breakable::lock, Words{"u:1", digits});
  CHECK(proxy.cuts() == 1);
  CHECK(broken.outcome == lock::Breaking::Outcome::broken);
  CHECK(broken.found.holders.size() == 2);
  CHECK(listener.call({"PING"}) == Words{"message", k_channel, "3"});
  CHECK(server.command({"GET", "job"}) == "3");
  CHECK(server.command({"EXISTS", k_permits}) == "0");
  CHECK((pttl(server) == -1) == is_of_service);
}

TEST_CASE(
    "semaphore: a permit whose time is over cannot be re-entered, as its holds are forgotten") {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"SET", "job", "1"});  // another client's, whose permits nothing removes
  lock::SingleServerLock outer = make_semaphore("u:1", 1), inner = make_semaphore("u:1", 1);
  REQUIRE(takes(outer, client));
  CHECK(inner.reenter(client));
  server.command({"ZADD", k_permits, std::to_string(now(server) - 1), "u:1"});
  server.command({"DEL", k_info});
  CHECK_FALSE(inner.reenter(client));
  CHECK(takes(client, "o:1", 1));
}
