// acquire_semaphore.lua, reenter_semaphore.lua, renew_semaphore.lua and release_semaphore.lua.
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "lock/kinds/simple.hpp"
#include "lock/make_lock.hpp"
#include "redis/lock_fixture.hpp"
#include "redis/refusal.hpp"
#include "redis/semaphore_fixture.hpp"
#include "support/proxy.hpp"
#include "support/resp.hpp"
#include "support/script_calls.hpp"
#include "support/words.hpp"

using namespace rlock;
using namespace rlock::test::semaphore;
using lock::Busy;
using lock::Hold;
using lock::Join;
using lock::Release;
using lock::Renewal;
using test::client_of;
using test::has;
using test::Words;

namespace {

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

TEST_CASE("semaphore: S6: a request that is sent again counts once" * doctest::test_suite("S6")) {
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

TEST_CASE("semaphore: one whose side key cannot be written would have no end, and is not made") {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"SET", k_info, "text"});
  CHECK(test::has(test::refusal_of([&] { return takes(client, "u:1", 2); }),
                  "string in place of its side key"));
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
    lock::SingleServerLock simple(lock::simple_operations("job"), "u:3", lock::About{},
                                  lock::Terms(Milliseconds(1000)));
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
