// Queues that something has gone wrong with: others' clocks, the dead, garbage, and who comes and
// goes.
#include <deque>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "redis/fair_fixture.hpp"
#include "support/fair_lock.hpp"
#include "support/fake_server.hpp"
#include "support/resp.hpp"

using namespace rlock;
using lock::SingleServerLock;
using test::deadline_ahead;
using test::k_info;
using test::k_queue;
using test::k_scores;
using test::Peer;
using test::queue;
using test::Words;

namespace {

constexpr long long k_ours = 15'000;
constexpr long k_long = 86'000'000;  // as long as no real queue lasts
constexpr long long k_lease = 30'000;
constexpr long long k_slack = 3'000;  // of a server that is kept waiting in a script
using Fixture = test::FairFixture;

}  // namespace

TEST_CASE("W4: a waiter that others dropped gets its place back also after a grant in between" *
          doctest::test_suite("W4")) {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  f.line_up({"u:1", "u:2", "u:3"});
  // A thread whose clock is an hour ahead drops the head and leaves.
  f.server.command({"LPOP", k_queue});
  f.server.command({"ZREM", k_scores, "u:1"});
  CHECK(f.locks[0].release(f.client) == lock::Release::freed);
  REQUIRE(f.asks(f.locks[2]));
  CHECK_FALSE(f.asks(f.locks[1]));
  CHECK(queue(f.server) == Words{"u:1", "u:3"});
}

TEST_CASE("W5: waiters that come and go do not keep a dead head alive" *
          doctest::test_suite("W5")) {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  Peer dead(f.server, "r:1");
  CHECK_FALSE(dead.acquire());
  CHECK_FALSE(f.asks(f.make("u:1")));
  CHECK(f.locks[0].release(f.client) == lock::Release::freed);
  for (int i = 0; i < 5; ++i) {
    test::date_back_call(f.server, Milliseconds(3'000));
    SingleServerLock& impatient = f.make("u:2" + std::to_string(i));
    CHECK_FALSE(f.asks(impatient));
    impatient.stop_waiting(f.client);
  }
  CHECK(f.asks(f.locks[1]));
}

TEST_CASE("fair deadlines: the queue does not vanish under a Redisson waiter that is left in it") {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  CHECK_FALSE(f.asks(f.make("u:1")));
  REQUIRE(pttl(f.server, k_queue) > 0);
  Peer peer(f.server, "r:1");
  CHECK_FALSE(peer.acquire());
  SUBCASE("after a grant") {
    CHECK(f.locks[0].release(f.client) == lock::Release::freed);
    CHECK(f.asks(f.locks[1]));
  }
  SUBCASE("after giving up") { f.locks[1].stop_waiting(f.client); }
  CHECK(queue(f.server) == Words{"r:1"});
  for (const std::string& key : {k_queue, k_scores}) CHECK(pttl(f.server, key) > k_long);
}

TEST_CASE("fair deadlines: holders that were killed are not taken for waiters") {
  Fixture f;
  REQUIRE(f.asks(f.make("dead:0")));
  CHECK_FALSE(f.asks(f.make("u:1")));
  f.expire();
  REQUIRE(f.asks(f.locks[1]));
  CHECK_FALSE(f.asks(f.make("u:2")));
  Peer peer(f.server, "r:1");
  CHECK_FALSE(peer.acquire());
  CHECK_FALSE(f.asks(f.locks[2]));
  CHECK(pttl(f.server, k_queue) > k_long);
  f.locks[2].stop_waiting(f.client);
  CHECK(deadline_ahead(f.server, "r:1") <= k_lease + Peer::k_wait.count() + k_slack);
}

TEST_CASE("fair deadlines: a longer wait of one's own is added once, not for all before") {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  f.line_up({"u:1", "u:2", "u:3"});
  CHECK_FALSE(f.asks(f.make("u:4", Milliseconds(3'600'000))));
  CHECK(deadline_ahead(f.server, "u:4") <= 30'000 + 3 * k_ours + 3'600'000);
}

// Only waiters that still ask extend it.
TEST_CASE("W3: a release that finds the head alive leaves the end of the queue as it is" *
          doctest::test_suite("W3")) {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  f.line_up({"u:1", "u:2"});
  for (const std::string& key : {k_queue, k_scores}) f.server.command({"PEXPIRE", key, "100000"});
  CHECK(f.locks[0].release(f.client) == lock::Release::freed);
  CHECK(queue(f.server) == Words{"u:1", "u:2"});
  for (const std::string& key : {k_queue, k_scores}) {
    const long left = pttl(f.server, key);
    CHECK(left > 0);
    CHECK(left <= 100'000);
  }
}

TEST_CASE("W5: a waiter without a deadline that nobody knows is dropped from the head" *
          doctest::test_suite("W5")) {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  CHECK_FALSE(f.asks(f.make("u:1")));
  f.server.command({"LPUSH", k_queue, "r:1"});
  SUBCASE("by a release") { CHECK(f.locks[0].release(f.client) == lock::Release::freed); }
  SUBCASE("by the next that asks") { f.expire(); }
  CHECK(f.asks(f.locks[1]));
  CHECK(queue(f.server).empty());
}

// Found by tests/explore. Whoever is left may die before it asks again.
TEST_CASE("W3: a queue of rlock's waiters always has an end" * doctest::test_suite("W3")) {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  f.line_up({"u:1", "u:2"});
  SUBCASE("a waiter that was called comes too late") {
    CHECK(f.locks[0].release(f.client) == lock::Release::freed);
    test::date_back_call(f.server, Milliseconds(9'000));
    CHECK_FALSE(f.asks(f.locks[1]));
    CHECK(queue(f.server).size() == 2);
  }
  SUBCASE("the last holder waits") {
    f.expire();
    CHECK_FALSE(f.asks(f.locks[0]));
    CHECK(queue(f.server).size() == 3);
  }
  SUBCASE("a grant has swept a dead head away") {
    CHECK_FALSE(f.asks(f.make("u:3")));
    f.expire();
    test::make_overdue(f.server, "u:1");
    CHECK(f.asks(f.locks[2]));
    CHECK(queue(f.server) == Words{"u:3"});
  }
  CHECK(pttl(f.server, k_queue) > 0);
  CHECK(pttl(f.server, k_scores) > 0);
}

TEST_CASE("W3: who gives up after being called leaves no key" * doctest::test_suite("W3")) {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  CHECK_FALSE(f.asks(f.make("u:1")));
  CHECK(f.locks[0].release(f.client) == lock::Release::freed);
  f.locks[1].stop_waiting(f.client);
  CHECK(f.server.command({"EXISTS", k_info, k_queue, k_scores}) == "0");
  CHECK(comes_to_be_empty(f.server));  // also of latches
}

TEST_CASE("W5: a long queue of garbage is gone when the lock becomes free, and its heir is called" *
          doctest::test_suite("W5")) {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  f.server.command({"EVAL",
                    "for i = 1, 50000 do redis.call('rpush', KEYS[1], 'r:' .. i) "
                    "redis.call('zadd', KEYS[2], i, 'r:' .. i) end",
                    "2", k_queue, k_scores});
  CHECK_FALSE(f.asks(f.make("u:1")));
  test::RespClient listener = f.server.connect();
  listener.call({"SUBSCRIBE", test::k_channel + ":u:1"});
  CHECK(f.locks[0].release(f.client) == lock::Release::freed);
  CHECK(listener.call({"PING"}).at(0) == "message");
}

TEST_CASE("W5: several of Redisson's waiters that are dead go together; who listens is called" *
          doctest::test_suite("W5")) {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  std::deque<Peer> peers;
  for (int i = 1; i <= 5; ++i)
    CHECK_FALSE(peers.emplace_back(f.server, "r:" + std::to_string(i)).acquire());
  SUBCASE("all are dead") {
    CHECK_FALSE(f.asks(f.make("u:1")));
    CHECK(f.locks[0].release(f.client) == lock::Release::freed);
    CHECK_FALSE(f.asks(f.locks[1]));
    test::date_back_call(f.server, Milliseconds(8'100));
    CHECK(f.asks(f.locks[1]));
    CHECK(queue(f.server).empty());
  }
  SUBCASE("the third lives") {
    peers[2].listen();
    CHECK_FALSE(f.asks(f.make("u:1")));
    CHECK(f.locks[0].release(f.client) == lock::Release::freed);
    test::date_back_call(f.server, Milliseconds(8'100));
    CHECK_FALSE(f.asks(f.locks[1]));
    CHECK(queue(f.server) == Words{"r:3", "r:4", "r:5", "u:1"});
    CHECK(peers[2].messages() == 1);
    // What the dead had added is gone.
    CHECK(deadline_ahead(f.server, "r:3") <= k_lease + Peer::k_wait.count() + k_slack);
    CHECK(peers[2].acquire());
  }
  SUBCASE("one that came after the call has its own time") {
    CHECK(f.locks[0].release(f.client) == lock::Release::freed);
    Peer late(f.server, "r:6");
    CHECK_FALSE(late.acquire());
    CHECK_FALSE(f.asks(f.make("u:1")));
    test::date_back_call(f.server, Milliseconds(8'100));
    CHECK_FALSE(f.asks(f.locks[1]));
    CHECK(queue(f.server) == Words{"r:6", "u:1"});
  }
}

TEST_CASE(
    "W5: dead Redisson waiters go together, in small steps, however many of the first hundred" *
    doctest::test_suite("W5")) {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  std::deque<Peer> peers;
  const auto join = [&](int count) {
    for (int i = 1; i <= count; ++i)
      CHECK_FALSE(peers.emplace_back(f.server, "r:" + std::to_string(i)).acquire());
  };
  const auto ask_late = [&] {
    CHECK_FALSE(f.asks(f.make("u:1")));
    CHECK(f.locks[0].release(f.client) == lock::Release::freed);
    CHECK_FALSE(f.asks(f.locks[1]));
    test::date_back_call(f.server, Milliseconds(8'100));
    return f.asks(f.locks[1]);
  };
  SUBCASE("all are dead") {
    join(99);
    const long before = test::script_calls(f.server);
    CHECK(ask_late());
    CHECK(test::script_calls(f.server) - before >= 3 + 9);
    CHECK(queue(f.server).empty());
    CHECK(f.server.command({"HEXISTS", k_info, "called"}) == "0");
  }
  SUBCASE("the last lives") {
    join(40);
    peers.back().listen();
    CHECK_FALSE(ask_late());
    CHECK(queue(f.server) == Words{"r:40", "u:1"});
    CHECK(peers.back().messages() == 1);
    CHECK(deadline_ahead(f.server, "r:40") <= k_lease + Peer::k_wait.count() + k_slack);
  }
  SUBCASE("more than a hundred") {
    join(105);
    CHECK_FALSE(ask_late());
    CHECK(queue(f.server).size() == 6);
    // Those behind have their own time.
    test::date_back_call(f.server, Milliseconds(8'100));
    CHECK(f.asks(f.locks[1]));
  }
}

TEST_CASE("W5: the first of rlock's waiters asks at the moment at which the dead are judged" *
          doctest::test_suite("W5")) {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  Peer dead(f.server, "r:1");
  CHECK_FALSE(dead.acquire());
  f.line_up({"u:1", "u:2"});
  const auto ask = [&](std::size_t i) {
    return std::get<lock::Busy>(f.locks[i].try_acquire(f.client, lock::Join::yes));
  };
  CHECK(ask(1).overheard == test::k_channel + ":r:1");
  CHECK(ask(1).ask_after == Milliseconds(5'010));
  CHECK(ask(2).overheard.empty());  // one of rlock's is enough
  CHECK(f.locks[0].release(f.client) == lock::Release::freed);
  // It asks the sooner, the shorter ago the call is: which must not depend on this process's turn.
  // Of a call in the future, it makes a new one.
  test::date_back_call(f.server, Milliseconds(-3'000));
  CHECK(ask(1).ask_after <= Milliseconds(1'000));
  test::date_back_call(f.server, Milliseconds(5'000));
  const lock::Busy busy = ask(1);
  CHECK(busy.ask_after <= Milliseconds(3'001));
  CHECK(ask(2).ask_after == Milliseconds(5'020));
  test::date_back_call(f.server, *busy.ask_after);
  CHECK(f.asks(f.locks[1]));
}

TEST_CASE("R2: a server that has more to sweep forever is not asked forever" *
          doctest::test_suite("R2")) {
  const std::string more =
      "*10\r\n:0\r\n:-2\r\n$0\r\n\r\n$0\r\n\r\n:0\r\n:0\r\n:0\r\n:-2\r\n:0\r\n$0\r\n\r\n";
  std::vector<std::string> replies(200'000, more);
  replies[0].insert(0, "+OK\r\n");  // to what a client says of itself
  const test::FakeServer server({.replies = replies});
  redis::ClientOptions options;
  options.endpoint = redis::parse_url(server.url());
  options.timeout = Milliseconds(1'000);
  redis::Client client(options);
  SingleServerLock lock(lock::fair_operations("job", lua::k_our_wait), "u:1", lock::About{},
                        Milliseconds(30'000));
  const auto answer = lock.try_acquire(client, lock::Join::yes);
  REQUIRE(std::holds_alternative<lock::Busy>(answer));
  CHECK_FALSE(std::get<lock::Busy>(answer).place);
  CHECK(std::get<lock::Busy>(answer).ask_after == Milliseconds(5'000));
}

TEST_CASE("W4: a waiter far back that nothing is known of any longer keeps its place" *
          doctest::test_suite("W4")) {
  Fixture f;
  f.hold_by_other();
  f.line_up({"u:1"});
  f.server.command({"EVAL",
                    "for i = 1, 3000 do redis.call('rpush', KEYS[1], 'p:' .. i) "
                    "redis.call('zadd', KEYS[2], 9e12, 'p:' .. i) end",
                    "2", k_queue, k_scores});
  f.line_up({"u:2", "u:3"});
  f.server.command({"HDEL", k_info, "u:2"});
  const auto answer = f.locks[1].try_acquire(f.client, lock::Join::yes);
  REQUIRE(std::holds_alternative<lock::Busy>(answer));
  CHECK(std::get<lock::Busy>(answer).place == 3001);
  CHECK(f.server.command({"LLEN", k_queue}) == "3003");
}

TEST_CASE("fair deadlines: the last holder, who was killed, is not told of after the next grant") {
  Fixture f;
  REQUIRE(f.asks(f.make("dead:0")));
  CHECK_FALSE(f.asks(f.make("u:1")));
  CHECK_FALSE(Peer(f.server, "r:1").acquire());
  f.expire();
  REQUIRE(f.asks(f.locks[1]));
  CHECK(f.server.command({"HEXISTS", k_info, "dead:0"}) == "0");
  CHECK(deadline_ahead(f.server, "r:1") <= k_lease + Peer::k_wait.count() + k_slack);
  CHECK(pttl(f.server, k_queue) > k_long);
}

TEST_CASE("fair: of waiters that somebody has dropped, a grant forgets the dead and no others") {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  f.line_up({"u:1", "u:2"});
  f.server.command({"DEL", k_queue, k_scores});
  test::make_overdue(f.server, "u:1");
  f.expire();
  REQUIRE(f.asks(f.make("u:3")));
  CHECK(f.server.command({"HEXISTS", k_info, "u:1"}) == "0");
  CHECK(f.server.command({"HEXISTS", k_info, "u:2"}) == "1");
}

TEST_CASE("fair: what is told of a dead waiter, and is no JSON, keeps nobody out") {
  for (const std::string told : {"no JSON", "7", "[]", ""}) {
    CAPTURE(told);
    Fixture f;
    f.server.command({"RPUSH", k_queue, "dead:1"});
    f.server.command({"ZADD", k_scores, "1", "dead:1"});
    f.server.command({"HSET", k_info, "dead:1", told});
    CHECK(f.asks(f.make("u:1")));
    CHECK(f.locks[0].release(f.client) == lock::Release::freed);
    CHECK(f.server.command({"EXISTS", k_queue, k_scores}) == "0");
  }
}

TEST_CASE("fair: while a lock is kept, what is told of those who wait does not end with it") {
  for (const bool has_waiters : {true, false}) {
    CAPTURE(has_waiters);
    Fixture f;
    REQUIRE(f.asks(f.make("u:0")));
    if (has_waiters) f.line_up({"u:1", "u:2"});
    CHECK(f.locks[0].release(f.client, Milliseconds(500)) == lock::Release::still_held);
    CHECK((pttl(f.server, k_info) > 5000) == has_waiters);
  }
}
