// acquire_fair.lua, and release.lua and force_release.lua where there is a queue.
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "redis/fair_fixture.hpp"
#include "support/fair_lock.hpp"
#include "support/script_calls.hpp"
#include "support/wait_until.hpp"

using namespace rlock;
using lock::Busy;
using lock::Join;
using lock::SingleServerLock;
using test::breaks;
using test::k_channel;
using test::k_info;
using test::k_queue;
using test::k_scores;
using test::Peer;
using test::queue;
using test::Words;

namespace {

struct Fixture : test::FairFixture {
  [[nodiscard]] bool is_empty() const { return comes_to_be_empty(server); }
};

}  // namespace

TEST_CASE("acquire_fair: a free lock is taken with a TTL in one step, without a queue") {
  Fixture f;
  const auto answer = f.make("u:1").try_acquire(f.client, Join::no);
  REQUIRE(std::holds_alternative<lock::Hold>(answer));
  CHECK(std::get<lock::Hold>(answer).count == 1);
  CHECK(f.server.list({"HGETALL", "job"}) == Words{"u:1", "1"});
  CHECK(f.server.keys() == Words{"job", k_info});
  for (const char* key : {"job", k_info.c_str()}) {
    const long ttl = pttl(f.server, key);
    CHECK(ttl > 0);
    CHECK(ttl <= 30'000);
  }
  CHECK(f.locks[0].release(f.client) == lock::Release::freed);
  CHECK(f.is_empty());
}

TEST_CASE("acquire_fair: who must not queue yet is told of the holder and leaves nothing") {
  Fixture f;
  f.hold_by_other();
  const auto answer = f.make("u:1").try_acquire(f.client, Join::no);
  REQUIRE(std::holds_alternative<Busy>(answer));
  CHECK(std::get<Busy>(answer).owner == "other:1");
  CHECK_FALSE(std::get<Busy>(answer).place);
  CHECK(f.server.keys() == Words{"job"});
}

TEST_CASE("acquire_fair: a waiter is told its place, and to ask less often far back") {
  Fixture f;
  f.hold_by_other();
  const auto ask = [&](const std::string& owner) {
    return std::get<Busy>(f.make(owner).try_acquire(f.client, Join::yes));
  };
  for (int place = 0; place < 3; ++place) {
    const Busy busy = ask("u:" + std::to_string(place));
    CHECK(busy.place == place);
    CHECK(busy.ask_after == Milliseconds(5000 + 10 * place));
    CHECK(busy.overheard.empty());  // rlock's tell each other
  }
  f.server.command({"EVAL",
                    "for i = 1, 3000 do redis.call('rpush', KEYS[1], 'p:' .. i) "
                    "redis.call('zadd', KEYS[2], 9e12, 'p:' .. i) end",
                    "2", k_queue, k_scores});
  const Busy last = ask("u:last");
  CHECK(last.place == 3003);
  CHECK(last.ask_after == Milliseconds(30'000));
  // It is not taken for dead before it asks, which it does up to a fifth later.
  const std::string deadline =
      f.server.command({"EVAL",
                        "local about = cjson.decode(redis.call('hget', KEYS[1], 'u:last')) "
                        "return math.floor(about.due - about.came / 1000)",
                        "1", k_info});
  CHECK(std::stol(deadline) > 37'000);
}

TEST_CASE("W4: only the head of the queue gets a lock that is free" * doctest::test_suite("W4")) {
  Fixture f;
  f.hold_by_other();
  f.line_up({"u:1", "u:2", "u:3"});
  f.server.command({"DEL", "job"});
  CHECK_FALSE(f.asks(f.locks[2]));
  CHECK_FALSE(f.asks(f.locks[1]));
  CHECK_FALSE(f.asks(f.make("u:4")));
  CHECK(f.server.command({"EXISTS", "job"}) == "0");
  for (SingleServerLock& lock : f.locks) {
    CHECK(f.asks(lock));
    CHECK(lock.release(f.client) == lock::Release::freed);
  }
  CHECK(f.is_empty());
}

TEST_CASE("W4: waiters that others dropped come back in their order, whoever asks first" *
          doctest::test_suite("W4")) {
  Fixture f;
  f.hold_by_other();
  for (const char* owner : {"u:1", "u:2", "u:3"}) {
    f.line_up({owner});
    const long long then = test::server_time(f.server);
    CHECK(test::wait_until([&] { return test::server_time(f.server) > then; }));
  }
  f.server.command({"DEL", k_queue, k_scores});
  for (const auto& [i, place] : {std::pair(2U, 0), {0U, 0}, {1U, 1}}) {
    CHECK(std::get<Busy>(f.locks[i].try_acquire(f.client, Join::yes)).place == place);
  }
  CHECK(queue(f.server) == Words{"u:1", "u:2", "u:3"});
  CHECK(f.server.command({"ZCARD", k_scores}) == "3");
}

TEST_CASE("W4: a waiter that was called, but found that another was faster, keeps its place" *
          doctest::test_suite("W4")) {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  f.line_up({"u:1", "u:2"});
  CHECK(f.locks[0].release(f.client) == lock::Release::freed);
  lock::SingleServerLock plain = test::make_lock("p:1");
  REQUIRE(std::holds_alternative<lock::Hold>(plain.try_acquire(f.client, Join::yes)));
  CHECK_FALSE(f.asks(f.locks[1]));                       // it comes at once, as it should
  test::date_back_call(f.server, Milliseconds(20'000));  // the plain lock is held for a while
  for (SingleServerLock* lock : {&f.locks[1], &f.locks[2]}) CHECK_FALSE(f.asks(*lock));
  SUBCASE("and is released") { CHECK(plain.release(f.client) == lock::Release::freed); }
  SUBCASE("and ends without a word") { f.expire(); }
  CHECK(queue(f.server) == Words{"u:1", "u:2"});
  CHECK_FALSE(f.asks(f.locks[2]));
  CHECK(f.asks(f.locks[1]));
}

// Whoever is next asks each 5 s, and both together are no more than 15 s.
TEST_CASE(
    "W5: a waiter near the head is dead 10 s after it has asked, and not before it asks again" *
    doctest::test_suite("W5")) {
  Fixture f;
  f.hold_by_other();
  f.line_up({"u:1", "u:2"});
  for (const std::size_t i : {0U, 1U}) {
    const std::string owner = i == 0 ? "u:1" : "u:2";
    CHECK_FALSE(f.asks(f.locks[i]));  // just now
    const long left = std::stol(
        f.server.command({"EVAL",
                          "local time = redis.call('time') local about = "
                          "cjson.decode(redis.call('hget', KEYS[1], ARGV[1])) "
                          "return math.floor(about.due - time[1] * 1000 - time[2] / 1000)",
                          "1", k_info, owner}));
    CHECK(left <= 10'000);
    CHECK(left > 5'010);
  }
}

TEST_CASE("W5: the dead are dropped when the lock is free, and only then; the living stay" *
          doctest::test_suite("W5")) {
  Fixture f;
  f.hold_by_other();
  f.line_up({"u:1", "u:2", "u:3", "u:4"});
  for (const char* owner : {"u:1", "u:2", "u:4"}) test::make_overdue(f.server, owner);
  CHECK_FALSE(f.asks(f.locks[2]));
  CHECK_FALSE(f.asks(f.locks[1]));  // it was only late
  CHECK(queue(f.server) == Words{"u:1", "u:2", "u:3", "u:4"});
  f.server.command({"DEL", "job"});
  CHECK_FALSE(f.asks(f.locks[2]));
  CHECK(queue(f.server) == Words{"u:2", "u:3", "u:4"});
  CHECK(f.asks(f.locks[1]));
  CHECK(f.locks[1].release(f.client) == lock::Release::freed);
  CHECK(f.asks(f.locks[2]));
  CHECK(f.locks[2].release(f.client) == lock::Release::freed);
  CHECK(queue(f.server) == Words{"u:4"});  // after an outage it could be late like all the others
  SingleServerLock& next = f.make("u:5");
  CHECK_FALSE(f.asks(next));
  CHECK(f.asks(next));
  CHECK(queue(f.server).empty());
}

TEST_CASE("a Redisson defect: members without a score, at which its script stops, are dropped") {
  Fixture f;
  f.hold_by_other();
  f.line_up({"u:1"});
  for (const char* owner : {"dead:1", "dead:2"}) {
    f.server.command({"LPUSH", k_queue, owner});
    f.server.command({"RPUSH", k_queue, owner});
  }
  f.line_up({"u:2"});
  CHECK(queue(f.server) == Words{"u:1", "u:2"});
  Peer peer(f.server, "r:1");
  CHECK_FALSE(peer.acquire());
  CHECK(test::deadline_ahead(f.server, "r:1") > Peer::k_wait.count());
}

TEST_CASE("S6: a place that is asked for again and again is one place, and so is a grant" *
          doctest::test_suite("S6")) {
  Fixture f;
  f.hold_by_other();
  f.line_up({"u:1", "u:2"});
  for (SingleServerLock& lock : f.locks) CHECK_FALSE(f.asks(lock));
  CHECK(queue(f.server) == Words{"u:1", "u:2"});
  CHECK(f.server.command({"ZCARD", k_scores}) == "2");
  f.server.command({"DEL", "job"});
  for (int i = 0; i < 3; ++i) CHECK(f.asks(f.locks[0]));
  CHECK(f.server.list({"HGETALL", "job"}) == Words{"u:1", "1"});
  CHECK(queue(f.server) == Words{"u:2"});
}

TEST_CASE("S6: a request that comes after its own giving up takes neither lock nor place" *
          doctest::test_suite("S6")) {
  Fixture f;
  const auto request = [&] {
    const lock::KeyNames& keys = test::k_job;
    return f.client
        .run(lua::acquire_fair::Call{.lock = keys.lock,
                                     .info = keys.info,
                                     .latch = keys.latch("a"),
                                     .queue = keys.queue,
                                     .scores = keys.scores,
                                     .token = std::nullopt,
                                     .lease = Milliseconds(30'000),
                                     .owner = "u:1",
                                     .about_json = "",
                                     .fencing = "off",
                                     .channel = keys.channel,
                                     .wait = Milliseconds(15'000)})
        .as_array(1)[0]
        .as_integer();
  };
  f.hold_by_other();
  REQUIRE(request() == 0);
  for (int i = 0; i < 2; ++i) {
    auto call = test::release_call("u:1", "a");
    call.wait = Milliseconds(15'000);
    f.client.run(call);
    CHECK(queue(f.server).empty());
  }
  CHECK(request() == 2);
  f.server.command({"DEL", "job"});
  CHECK(request() == 2);
  CHECK(f.server.keys() == Words{test::k_job.latch("a")});
  CHECK(pttl(f.server, test::k_job.latch("a")) > 0);
}

TEST_CASE("release: exactly the head of the queue is called") {
  Fixture f;
  REQUIRE(f.asks(f.make("u:1")));
  Peer first(f.server, "r:1");
  Peer second(f.server, "r:2");
  for (Peer* peer : {&first, &second}) {
    peer->listen();
    CHECK_FALSE(peer->acquire());
  }
  SUBCASE("by its owner") { CHECK(f.locks[0].release(f.client) == lock::Release::freed); }
  SUBCASE("by force") { CHECK(breaks(f.client) == Words{"u:1"}); }
  SUBCASE("also when the lock was deleted by hand: it can be broken all the same") {
    f.server.command({"DEL", "job"});
    CHECK(breaks(f.client).empty());
  }
  SUBCASE("by a waiter at the head who gives up when it is his turn") {
    f.server.command({"LPUSH", k_queue, "u:2"});
    f.server.command({"DEL", "job"});
    CHECK(f.make("u:2").release(f.client) == lock::Release::not_held);
  }
  CHECK(first.messages() == 1);
  CHECK(second.messages() == 0);
  CHECK(queue(f.server) == Words{"r:1", "r:2"});
}

TEST_CASE("W3: a waiter that gives up leaves nothing, wherever it stands, and nobody is called" *
          doctest::test_suite("W3")) {
  Fixture f;
  f.hold_by_other();
  Peer peer(f.server, "r:1");
  peer.listen();
  f.line_up({"u:1", "u:2"});
  CHECK_FALSE(peer.acquire());
  f.line_up({"u:3"});
  for (SingleServerLock& lock : f.locks) lock.stop_waiting(f.client);
  CHECK(queue(f.server) == Words{"r:1"});
  CHECK(f.server.list({"ZRANGE", k_scores, "0", "-1"}) == Words{"r:1"});
  CHECK(f.server.command({"HLEN", k_info}) == "0");
  CHECK(peer.messages() == 0);
  peer.leave();
  CHECK(test::wait_until([&] { return f.server.keys() == Words{"job"}; }));
}

TEST_CASE("S5: release by a stranger takes nobody's place" * doctest::test_suite("S5")) {
  Fixture f;
  f.hold_by_other();
  f.line_up({"u:1"});
  CHECK(f.make("u:9").release(f.client) == lock::Release::not_held);
  lock::SingleServerLock plain = test::make_lock("u:1");
  CHECK(plain.release(f.client) == lock::Release::not_held);
  CHECK(queue(f.server) == Words{"u:1"});
  f.expire();
  CHECK(test::make_lock("p:1").release(f.client) == lock::Release::not_held);
  CHECK(f.server.command({"HEXISTS", k_info, "called"}) == "0");  // nor does it call anybody
}
