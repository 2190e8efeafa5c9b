// evict.lua
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "lock/inspection/force_release.hpp"
#include "redis/fair_fixture.hpp"
#include "support/fair_lock.hpp"
#include "support/script_calls.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock;
using test::has;
using test::k_channel;
using test::k_info;
using test::k_queue;
using test::k_scores;
using test::Peer;
using test::queue;
using test::Words;

namespace {

constexpr long long k_lease = 600'000;
constexpr long long k_wait = Peer::k_wait.count();
constexpr long long k_ours = 15'000;
// Of clock and TTL. They may be read at different times where the server is kept waiting in
// between.
constexpr long long k_rounding = 3'000;

struct Fixture : test::FairFixture {
  [[nodiscard]] std::optional<lock::Eviction> evict(const std::string& waiter) {
    return lock::evict(client, "job", waiter);
  }
  // Waiters of Redisson, in this order, behind a holder with 10 minutes left.
  void line_up_peers(const Words& owners) {
    for (const std::string& owner : owners) CHECK_FALSE(Peer(server, owner).acquire());
  }
  [[nodiscard]] long long score(const std::string& owner) const {
    return std::stoll(server.command({"ZSCORE", k_scores, owner}));
  }
  void set_score(const std::string& owner, const std::string& score) const {
    server.command({"ZADD", k_scores, score, owner});
  }
  void check_ahead(const std::string& owner, long long expected) const {
    CAPTURE(owner);
    const long long ahead = test::deadline_ahead(server, owner);
    CHECK(ahead <= expected + k_rounding);
    CHECK(ahead > expected - 10'000);
  }
};

}  // namespace

TEST_CASE("evict: a waiter of Redisson gives back what it had added, to those behind only") {
  Fixture f;
  f.hold_by_other();
  f.line_up_peers({"r:1", "r:2", "r:3", "r:4"});
  const long long first = f.score("r:1");
  const long long second = f.score("r:2");
  SUBCASE("from the middle") {
    const auto gone = f.evict("r:2");
    REQUIRE(gone);
    CHECK(gone->position == 2);
    CHECK(gone->alive == false);
    CHECK(f.score("r:1") == first);
    CHECK(f.score("r:3") == second);
    CHECK(f.score("r:4") == second + k_wait);
    CHECK(queue(f.server) == Words{"r:1", "r:3", "r:4"});
  }
  SUBCASE("from the end") {
    const long long third = f.score("r:3");
    const auto gone = f.evict("r:4");
    REQUIRE(gone);
    CHECK(gone->position == 4);
    CHECK(f.score("r:3") == third);
    CHECK(queue(f.server) == Words{"r:1", "r:2", "r:3"});
  }
  SUBCASE("from the head") {
    REQUIRE(f.evict("r:1"));
    f.check_ahead("r:2", k_lease + k_wait);
    f.check_ahead("r:3", k_lease + 2 * k_wait);
    CHECK(f.score("r:4") - f.score("r:3") == k_wait);
  }
  CHECK(f.server.command({"ZCARD", k_scores}) == "3");
  CHECK(f.server.list({"HGETALL", "job"}) == Words{"other:1", "1"});
}

TEST_CASE("evict: never lowers by more than a head can have added, nor below what others need") {
  Fixture f;
  f.hold_by_other();
  f.line_up_peers({"r:1", "r:2", "r:3"});
  const long long now = test::server_time(f.server);
  SUBCASE("a head whose clock is a day ahead") {
    f.set_score("r:1", std::to_string(now + 86'400'000));
    const long long second = f.score("r:2");
    REQUIRE(f.evict("r:1"));
    CHECK(f.score("r:2") == second - k_wait);
  }
  SUBCASE("a head that holds up nobody any longer: the lease has been renewed since") {
    f.server.command({"PEXPIRE", "job", "7200000"});
    const long long second = f.score("r:2");
    REQUIRE(f.evict("r:1"));
    CHECK(f.score("r:2") == second);
  }
  SUBCASE("a head without end") {
    f.set_score("r:1", "inf");
    f.set_score("r:2", "inf");
    const long long third = f.score("r:3");
    REQUIRE(f.evict("r:1"));
    CHECK(f.score("r:3") == third - k_wait);
    CHECK(f.server.command({"ZSCORE", k_scores, "r:2"}) == "inf");
  }
  SUBCASE("one without end in the middle") {
    f.set_score("r:2", "inf");
    f.set_score("r:3", "inf");
    REQUIRE(f.evict("r:2"));
    CHECK(f.server.command({"ZSCORE", k_scores, "r:3"}) == "inf");
  }
  SUBCASE("one behind a head whose deadline has passed") {
    f.set_score("r:1", std::to_string(now - 3'600'000));
    REQUIRE(f.evict("r:2"));
    f.check_ahead("r:3", k_lease + k_wait);
  }
  SUBCASE("one before a waiter of less deadline") {
    f.set_score("r:3", std::to_string(now + k_lease + 5000));
    REQUIRE(f.evict("r:2"));
    CHECK(test::deadline_ahead(f.server, "r:3") > 0);
  }
}

TEST_CASE("evict: a waiter of rlock has added nothing to the deadlines behind it") {
  Fixture f;
  f.hold_by_other();
  long long wait = k_ours;
  SUBCASE("of 15 seconds") {}
  SUBCASE("of --fair-wait") { wait = k_lease + 120'000; }
  CHECK_FALSE(f.asks(f.make("u:1", Milliseconds(wait))));
  f.line_up_peers({"r:2"});
  CHECK_FALSE(f.asks(f.make("u:3")));
  const long long second = f.score("r:2");
  const long long third = f.score("u:3");
  const auto gone = f.evict("u:1");
  REQUIRE(gone);
  CHECK(gone->alive == true);
  REQUIRE(gone->waiter.is_told);
  CHECK(gone->waiter.about.host == "web1");
  CHECK(f.score("r:2") == second);
  CHECK(f.score("u:3") == third);
  CHECK(f.server.command({"HEXISTS", k_info, "u:1"}) == "0");
  // Who lives queues up again, at the end.
  CHECK_FALSE(f.asks(f.locks[0]));
  CHECK(queue(f.server) == Words{"r:2", "u:3", "u:1"});
}

TEST_CASE("evict: tells whether the waiter seems to live") {
  Fixture f;
  f.hold_by_other();
  Peer listening(f.server, "r:1");
  listening.listen();
  CHECK_FALSE(listening.acquire());
  f.line_up({"u:2", "u:3"});
  f.line_up_peers({"r:4", "r:5"});
  test::make_overdue(f.server, "u:3");
  f.set_score("r:5", "1");
  const auto alive = [&](const std::string& waiter) { return f.evict(waiter).value().alive; };
  CHECK(alive("r:1") == true);
  CHECK(alive("u:2") == true);
  CHECK(alive("u:3") == false);
  CHECK(alive("r:4") == false);
  CHECK(alive("r:5") == false);
  CHECK(queue(f.server).empty());
}

TEST_CASE("evict: whether a waiter lives cannot be told where it may listen on a replica") {
  Fixture f;
  test::Server replica({.args = {"--replicaof", "127.0.0.1 " + std::to_string(f.server.port())}});
  REQUIRE(test::wait_until([&] {
    return has(f.server.command({"INFO", "replication"}), "connected_slaves:1");
  }));
  f.hold_by_other();
  f.line_up_peers({"r:1", "r:2", "r:3"});
  f.set_score("r:2", "1");
  f.server.command({"ZREM", k_scores, "r:3"});
  CHECK_FALSE(f.evict("r:1").value().alive.has_value());
  CHECK(f.evict("r:2").value().alive == false);  // but its deadline has passed
  CHECK(f.evict("r:3").value().alive == false);
}

TEST_CASE("evict: where the lock is free, the next is called") {
  Fixture f;
  f.hold_by_other();
  f.line_up_peers({"r:1"});
  Peer next(f.server, "r:2");
  next.listen();
  CHECK_FALSE(next.acquire());
  SUBCASE("if the head has gone") {
    f.expire();
    REQUIRE(f.evict("r:1"));
    CHECK(next.messages() == 1);
    CHECK(next.acquire());
  }
  SUBCASE("and while it is held, who is the head now looks again, but is not called") {
    REQUIRE(f.evict("r:1"));
    CHECK(next.messages() == 1);
    CHECK(f.server.command({"EXISTS", k_info}) == "0");
  }
}

TEST_CASE("evict: one who does not wait") {
  Fixture f;
  CHECK_FALSE(f.evict("u:1"));
  CHECK(f.server.keys().empty());
  REQUIRE(f.asks(f.make("u:1")));
  const std::string before = f.server.command({"DUMP", "job"});
  const std::string told = f.server.command({"DUMP", k_info});
  CHECK_FALSE(f.evict("u:1"));
  CHECK(f.server.command({"DUMP", "job"}) == before);
  CHECK(f.server.command({"DUMP", k_info}) == told);
}

TEST_CASE("evict: a holder that also stands in the queue keeps the lock, and what is told of it") {
  Fixture f;
  REQUIRE(f.asks(f.make("u:1")));
  const std::string told = f.server.command({"HGET", k_info, "u:1"});
  f.server.command({"HDEL", k_info, "holder"});
  f.server.command({"RPUSH", k_queue, "u:1"});
  REQUIRE(f.evict("u:1"));
  CHECK(queue(f.server).empty());
  CHECK(f.server.list({"HGETALL", "job"}) == Words{"u:1", "1"});
  CHECK(f.server.command({"HGET", k_info, "u:1"}) == told);
  CHECK(pttl(f.server, k_info) > 0);
}

TEST_CASE("evict: half a waiter, and one who stands twice") {
  Fixture f;
  f.hold_by_other();
  f.line_up_peers({"r:1", "r:2"});
  const long long second = f.score("r:2");
  SUBCASE("a place without a deadline") {
    f.server.command({"LPUSH", k_queue, "x"});
    const auto gone = f.evict("x");
    REQUIRE(gone);
    CHECK(gone->position == 1);
    CHECK(gone->alive == false);
    CHECK(f.score("r:2") == second);
  }
  SUBCASE("a deadline without a place") {
    f.set_score("x", "9999999999999");
    const auto gone = f.evict("x");
    REQUIRE(gone);
    CHECK_FALSE(gone->position);
    CHECK(f.score("r:2") == second);
  }
  SUBCASE("twice, before and behind the others") {
    f.server.command({"LPUSH", k_queue, "x"});
    f.server.command({"RPUSH", k_queue, "x"});
    f.set_score("x", std::to_string(second));
    REQUIRE(f.evict("x"));
    CHECK(f.score("r:2") - (second - k_wait) >= 0);
    CHECK(f.score("r:2") - (second - k_wait) <= k_rounding);
  }
  CHECK(queue(f.server) == Words{"r:1", "r:2"});
  CHECK(f.server.command({"ZCARD", k_scores}) == "2");
}

TEST_CASE("S6: evict sent again takes nobody else, and no deadline twice" *
          doctest::test_suite("S6")) {
  Fixture f;
  f.hold_by_other();
  f.line_up_peers({"r:1", "r:2", "r:3"});
  const lock::KeyNames& keys = test::k_job;
  const lua::evict::Call call{.lock = keys.lock,
                              .channel = keys.channel,
                              .info = keys.info,
                              .latch = keys.latch("a"),
                              .queue = keys.queue,
                              .scores = keys.scores,
                              .memory = Milliseconds(30'000),
                              .waiter = "r:2"};
  CHECK(f.client.run(call).as_array(4)[1].as_integer() == 1);
  const long long third = f.score("r:3");
  f.line_up_peers({"r:2"});
  CHECK(f.client.run(call).as_array(4)[1].as_integer() == 1);
  CHECK(f.score("r:3") == third);
  CHECK(queue(f.server) == Words{"r:1", "r:3", "r:2"});
}

TEST_CASE("evict: queues of a thousand and more") {
  Fixture f;
  f.hold_by_other();
  const long long now = test::server_time(f.server);
  f.server.command({"EVAL",
                    "for i = 1, 2500 do redis.call('rpush', KEYS[1], 'r:' .. i) "
                    "redis.call('zadd', KEYS[2], ARGV[1] + 600000 + 300000 * i, 'r:' .. i) end",
                    "2", k_queue, k_scores, std::to_string(now)});
  const long long near = f.score("r:500");
  const long long last = f.score("r:2500");
  REQUIRE(f.evict("r:2"));
  CHECK(f.score("r:500") == near - k_wait);
  CHECK(f.score("r:2500") == last);  // not all in one script, because it blocks the server
  CHECK(f.server.command({"LLEN", k_queue}) == "2499");
}

TEST_CASE("evict: whoever needs its deadline keeps it, wherever it is in a queue of thousands") {
  int place = 0;
  SUBCASE("at the end of the first thousand behind") { place = 1001; }
  SUBCASE("at the start of the second") { place = 1002; }
  SUBCASE("behind that") { place = 1003; }
  SUBCASE("last") { place = 2499; }
  Fixture f;
  f.hold_by_other();
  const long long now = test::server_time(f.server);
  f.server.command({"EVAL",
                    "for i = 0, 2499 do redis.call('rpush', KEYS[1], 'r:' .. i) "
                    "redis.call('zadd', KEYS[2], ARGV[1] + 900000 + 300000 * i, 'r:' .. i) end",
                    "2", k_queue, k_scores, std::to_string(now)});
  const std::string tight = "r:" + std::to_string(place);
  constexpr long long k_spare = 30'000;
  f.set_score(tight, std::to_string(now + k_lease + k_spare));
  const long long other = f.score("r:2000");
  REQUIRE(f.evict("r:1"));
  CHECK(f.score(tight) >= now + k_lease - k_rounding);
  CHECK(f.score("r:2000") >= other - k_spare - 10'000);
}
