// The deadlines in a fair lock's queue: Redisson's arithmetic, where both kinds of client meet.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "redis/fair_fixture.hpp"
#include "support/fair_lock.hpp"
#include "support/wait_until.hpp"

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

constexpr long long k_lease = 30'000;
constexpr long long k_ours = 15'000;
constexpr long long k_theirs = Peer::k_wait.count();
// A deadline is the server's TIME and the rest of a lease. That rest counts from the start of the
// script: so a server that is kept from running in between sets a deadline too late by that time.
// The deadlines that the tests tell apart differ by 15 s.
constexpr long long k_slack = 3'000;

struct Fixture : test::FairFixture {
  // Time passes between the parts of a test, never the other way: a deadline that was set to be
  // `expected` ahead is less ahead now, but not by much.
  void check_deadline(const std::string& owner, long long expected) const {
    CAPTURE(owner);
    const long long ahead = deadline_ahead(server, owner);
    CHECK(ahead <= expected + k_slack);
    CHECK(ahead > expected - 10'000);
  }
  // Whether queue and scores are to vanish by themselves.
  [[nodiscard]] bool will_vanish() const {
    const long first = pttl(server, k_queue);
    const long second = pttl(server, k_scores);
    CHECK((first > 0) == (second > 0));
    constexpr long k_soon = 300'000;  // instead of after a day
    return first > 0 && second > 0 && first <= k_soon && second <= k_soon;
  }
};

}  // namespace

TEST_CASE("fair deadlines: the lease's rest, and the waits of Redisson's before") {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  f.line_up({"u:1", "u:2"});
  Peer peer(f.server, "r:3");
  CHECK_FALSE(peer.acquire());
  CHECK_FALSE(f.asks(f.make("u:4")));
  CHECK_FALSE(f.asks(f.make("u:5")));
  f.check_deadline("u:1", k_lease);
  f.check_deadline("u:2", k_lease);
  f.check_deadline("r:3", k_lease + k_theirs);
  f.check_deadline("u:4", k_lease + k_theirs);
  f.check_deadline("u:5", k_lease + k_theirs);
}

TEST_CASE("fair deadlines: not before the waiter asks again, if the lease ends sooner") {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  f.server.command({"PEXPIRE", "job", "1000"});
  for (const Milliseconds wait : {Milliseconds(k_ours), Milliseconds(3'600'000)}) {
    CHECK_FALSE(f.asks(f.make("u:" + std::to_string(wait.count()), wait)));
    CHECK(deadline_ahead(f.server, f.locks.back().owner()) <= 8'600);
    CHECK(deadline_ahead(f.server, f.locks.back().owner()) > 5'600);
  }
}

TEST_CASE("fair deadlines: a waiter that asks again raises its own, and only that") {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  f.line_up({"u:1", "u:2"});
  f.server.command({"PEXPIRE", "job", "600000"});
  const std::string second = f.server.command({"ZSCORE", k_scores, "u:2"});
  CHECK_FALSE(f.asks(f.locks[1]));
  f.check_deadline("u:1", 600'000);
  CHECK(f.server.command({"ZSCORE", k_scores, "u:2"}) == second);
}

TEST_CASE("fair deadlines: the coming and going of rlock's waiters changes no other deadline") {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  CHECK_FALSE(f.asks(f.make("u:1", Milliseconds(3'600'000))));
  CHECK_FALSE(f.asks(f.make("u:2")));
  CHECK_FALSE(Peer(f.server, "r:1").acquire());
  CHECK_FALSE(f.asks(f.make("u:3")));
  CHECK_FALSE(Peer(f.server, "r:2").acquire());
  f.check_deadline("r:1", k_lease + k_theirs);
  f.check_deadline("r:2", k_lease + 2 * k_theirs);
  const auto scores = [&] {
    return Words{f.server.command({"ZSCORE", k_scores, "r:1"}),
                 f.server.command({"ZSCORE", k_scores, "r:2"})};
  };
  const Words before = scores();
  SUBCASE("when they give up") {
    for (std::size_t i : {3U, 1U, 2U}) f.locks[i].stop_waiting(f.client);
  }
  SUBCASE("when they take the lock") {
    for (std::size_t i : {0U, 1U}) {
      CHECK(f.locks[i].release(f.client) == lock::Release::freed);
      CHECK(f.asks(f.locks[i + 1]));
    }
  }
  SUBCASE("when they are dead") {
    for (const char* owner : {"u:1", "u:2"}) test::make_overdue(f.server, owner);
    f.expire();
    CHECK_FALSE(f.asks(f.locks[3]));
    CHECK(queue(f.server) == Words{"r:1", "u:3", "r:2"});
  }
  CHECK(scores() == before);
}

TEST_CASE("fair deadlines: rlock's tell each other how long a Redisson waiter before them waits") {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  CHECK_FALSE(Peer(f.server, "r:1").acquire());
  CHECK_FALSE(f.asks(f.make("u:2")));
  // From now on the deadline of r:1 does not tell any longer how long it waits.
  f.server.command({"PEXPIRE", "job", "600000"});
  CHECK_FALSE(f.asks(f.make("u:3")));
  f.check_deadline("u:3", 600'000 + k_theirs);
}

TEST_CASE("fair deadlines: rlock's survive the grant of a Redisson waiter before them") {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  Peer peer(f.server, "r:1");
  CHECK_FALSE(peer.acquire());
  CHECK_FALSE(f.asks(f.make("u:2")));
  CHECK(f.locks[0].release(f.client) == lock::Release::freed);
  REQUIRE(peer.acquire());
  // Redisson drops a head whose deadline has passed, as soon as anybody asks.
  f.check_deadline("u:2", k_lease);
  CHECK_FALSE(Peer(f.server, "r:3").acquire());
  CHECK(queue(f.server) == Words{"u:2", "r:3"});
  peer.unlock();
  CHECK(f.asks(f.locks[1]));
}

TEST_CASE("fair deadlines: a Redisson waiter that had waited before rlock came is found out") {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  Peer peer(f.server, "r:1");
  CHECK_FALSE(peer.acquire());
  // As if almost five minutes later.
  f.server.command({"ZADD", k_scores, std::to_string(test::server_time(f.server) + 1'000), "r:1"});
  CHECK_FALSE(f.asks(f.make("u:1")));
  CHECK(deadline_ahead(f.server, "u:1") <= k_lease + k_slack);
  const auto waits_on = [&] {
    const long long at = test::server_time(f.server) + 2'500;
    CHECK(test::wait_until([&] { return test::server_time(f.server) > at; }));
    CHECK_FALSE(f.asks(f.locks[1]));
  };
  SUBCASE("it waits longer than that, so it is one of 5 minutes") {
    peer.listen();
    waits_on();
    f.check_deadline("u:1", k_lease + k_theirs);
  }
  SUBCASE("it does not listen: it may have died") {
    waits_on();
    CHECK(deadline_ahead(f.server, "u:1") <= k_lease + k_slack);
  }
}

TEST_CASE(
    "fair deadlines: a Redisson waiter that listens, and waits for a minute, waits for that") {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  Peer peer(f.server, "r:1", {}, std::chrono::minutes(1));
  peer.listen();
  CHECK_FALSE(peer.acquire());
  for (int i = 0; i < 2; ++i) {
    CHECK_FALSE(f.asks(f.make("u:1")));
    f.check_deadline("u:1", k_lease + 60'000);
  }
}

TEST_CASE("fair deadlines: queue and scores vanish by themselves while all waiters are rlock's") {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  f.line_up({"u:1", "u:2"});
  CHECK(f.will_vanish());
  Peer peer(f.server, "r:1");
  CHECK_FALSE(peer.acquire());
  CHECK_FALSE(f.asks(f.locks[1]));
  CHECK_FALSE(f.will_vanish());
  peer.leave();
  CHECK_FALSE(f.asks(f.locks[2]));
  CHECK(f.will_vanish());
}

TEST_CASE("a Redisson defect: deadlines hours ahead do not add up to more") {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  // A thread that would wait for 8 hours and has left, and one whose clock is a day ahead.
  for (const char* hours : {"8", "24"}) {
    const long long at = test::server_time(f.server) + std::stoll(hours) * 3'600'000;
    f.server.command({"RPUSH", k_queue, std::string("r:") + hours});
    f.server.command({"ZADD", k_scores, std::to_string(at), std::string("r:") + hours});
  }
  CHECK_FALSE(f.asks(f.make("u:1")));
  f.check_deadline("u:1", k_lease + 2 * k_theirs);
  CHECK(f.locks[0].release(f.client) == lock::Release::freed);
  CHECK(f.asks(f.locks[1]));
  CHECK(queue(f.server).empty());
  CHECK(f.server.command({"EXISTS", k_scores}) == "0");
}
