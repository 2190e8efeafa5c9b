// A fair queue of rlock's and Redisson's waiters, through random histories.
#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "redis/fair_fixture.hpp"
#include "support/fair_lock.hpp"

using namespace rlock;
using test::k_scores;
using test::Peer;
using test::queue;
using test::Words;

namespace {

constexpr long long k_lease = 30'000;
constexpr long long k_slack = 3'000;  // of a server that is kept waiting in a script

// Clients come, ask again, give up, take the lock when it is their turn, and give it back.
class Fleet {
 public:
  enum class Members { ours, mixed };

  Fleet(unsigned seed, Members members) : random_(seed), members_(members) {}

  void step() {
    switch (pick(6)) {
      case 0:
      case 1:
        come();
        break;
      case 2:
        if (const auto name = somebody(); !name.empty() && is_ours(name)) CHECK_FALSE(asks(name));
        break;
      case 3:
        if (const auto name = somebody(); !name.empty()) give_up(name);
        break;
      default:
        if (!holder_.empty()) hand_over();
    }
  }

  // No deadline is later than now, the lease, the waits before it and its own.
  void check_deadlines() {
    long long latest = test::server_time(f_.server) + k_lease + k_slack;
    for (const std::string& name : queue(f_.server)) {
      latest += is_ours(name) ? ours_.at(name).second : theirs_.at(name)->wait().count();
      const std::string score = f_.server.command({"ZSCORE", k_scores, name});
      CAPTURE(name);
      CHECK(std::stoll(score) <= latest);
    }
  }

  // First come, first served: nobody who waits has lost its place.
  void check_order() { CHECK(queue(f_.server) == order_); }

 private:
  unsigned pick(unsigned below) { return std::uniform_int_distribution(0U, below - 1)(random_); }
  static bool is_ours(const std::string& name) { return name[0] == 'u'; }

  std::string somebody() {
    return order_.empty() ? "" : order_[pick(static_cast<unsigned>(order_.size()))];
  }

  void come() {
    const std::string number = std::to_string(++count_);
    if (members_ == Members::ours || pick(2) == 0) {
      const long long wait = pick(4) == 0 ? 60'000 : 15'000;
      const std::string name = "u:" + number;
      ours_.insert({name, {&f_.make(name, Milliseconds(wait)), wait}});
      enter(name, asks(name));
      return;
    }
    const std::string name = "r:" + number;
    const Milliseconds wait(pick(2) == 0 ? 300'000 : 2'500);
    theirs_[name] = std::make_unique<Peer>(f_.server, name, Milliseconds(0), wait);
    enter(name, theirs_[name]->acquire());
  }

  void enter(const std::string& name, bool has_it) {
    if (has_it) {
      CHECK(holder_.empty());
      holder_ = name;
    } else {
      order_.push_back(name);
    }
  }

  bool asks(const std::string& name) { return f_.asks(*ours_.at(name).first); }

  void give_up(const std::string& name) {
    if (is_ours(name)) {
      ours_.at(name).first->stop_waiting(f_.client);
    } else {
      theirs_.at(name)->leave();
    }
    order_.erase(std::find(order_.begin(), order_.end(), name));
  }

  void hand_over() {
    if (is_ours(holder_)) {
      CHECK(ours_.at(holder_).first->release(f_.client) == lock::Release::freed);
    } else {
      theirs_.at(holder_)->unlock();
    }
    holder_.clear();
    if (!order_.empty()) take_first();
  }

  void take_first() {
    const std::string name = order_.front();
    CHECK((is_ours(name) ? asks(name) : theirs_.at(name)->acquire()));
    order_.erase(order_.begin());
    holder_ = name;
  }

  test::FairFixture f_;
  std::mt19937 random_;
  Members members_;
  std::map<std::string, std::pair<lock::SingleServerLock*, long long>> ours_;
  std::map<std::string, std::unique_ptr<Peer>> theirs_;
  Words order_;
  std::string holder_;
  int count_ = 0;
};

}  // namespace

TEST_CASE("fair deadlines: never later than now, the lease, the waits before and one's own") {
  for (const Fleet::Members members : {Fleet::Members::ours, Fleet::Members::mixed}) {
    for (unsigned seed = 1; seed <= 8; ++seed) {
      CAPTURE(seed);
      Fleet fleet(seed, members);
      for (int i = 0; i < 150; ++i) {
        CAPTURE(i);
        fleet.step();
        fleet.check_order();
        fleet.check_deadlines();
      }
    }
  }
}

// Then nothing tells how much of the deadline before it was the end of the last lease.
TEST_CASE("fair deadlines: a waiter that comes while the lock is free, behind a Redisson waiter") {
  test::FairFixture f;
  REQUIRE(f.asks(f.make("u:0")));
  Peer peer(f.server, "r:1");
  CHECK_FALSE(peer.acquire());
  CHECK(f.locks[0].release(f.client) == lock::Release::freed);
  CHECK_FALSE(f.asks(f.make("u:1")));
  CHECK_FALSE(f.asks(f.make("u:2")));
  REQUIRE(peer.acquire());
  CHECK(test::deadline_ahead(f.server, "u:1") <= k_lease + 15'000);
  CHECK_FALSE(f.asks(f.make("u:3")));
  CHECK(test::deadline_ahead(f.server, "u:3") <= k_lease + 15'000);
}

TEST_CASE("fair deadlines: 120 waiters that come and give up leave those behind what is theirs") {
  test::FairFixture f;
  REQUIRE(f.asks(f.make("u:0")));
  CHECK_FALSE(f.asks(f.make("u:1")));
  for (int i = 0; i < 120; ++i) {
    lock::SingleServerLock& lock = f.make("u:2" + std::to_string(i));
    CHECK_FALSE(f.asks(lock));
    if (i % 2 == 0) lock.stop_waiting(f.client);
  }
  CHECK_FALSE(f.asks(f.make("u:last")));
  Peer peer(f.server, "r:1");
  CHECK_FALSE(peer.acquire());
  for (std::size_t i = f.locks.size() - 1; i > 1; --i) f.locks[i].stop_waiting(f.client);
  CHECK(queue(f.server) == Words{"u:1", "r:1"});
  CHECK(test::deadline_ahead(f.server, "r:1") <= k_lease + 15'000 + Peer::k_wait.count() + k_slack);
  CHECK(f.locks[0].release(f.client) == lock::Release::freed);
  REQUIRE(f.asks(f.locks[1]));
  CHECK(test::deadline_ahead(f.server, "r:1") <= k_lease + Peer::k_wait.count() + k_slack);
}

TEST_CASE("fair deadlines: a grant to rlock changes none of thousands of Redisson waiters") {
  test::FairFixture f;
  f.hold_by_other();
  f.line_up({"u:1"});
  const long long first = test::server_time(f.server) + 1'000'000;
  f.server.command({"EVAL",
                    "for i = 1, 2500 do redis.call('rpush', KEYS[1], 'r:' .. i) "
                    "redis.call('zadd', KEYS[2], ARGV[1] + i, 'r:' .. i) end",
                    "2", test::k_queue, k_scores, std::to_string(first)});
  f.expire();
  REQUIRE(f.asks(f.locks.front()));
  CHECK(f.server.command({"ZCOUNT", k_scores, std::to_string(first + 1),
                          std::to_string(first + 2500)}) == "2500");
}

TEST_CASE("W4: rlock's and Redisson's waiters in turns, however many, get the lock in order" *
          doctest::test_suite("W4")) {
  for (const int count : {90, 120, 250, 1000}) {
    CAPTURE(count);
    test::FairFixture f;
    REQUIRE(f.asks(f.make("u:0")));
    std::map<std::string, Peer> peers;
    Words names;
    auto asked = std::chrono::steady_clock::now();
    // Those of rlock that wait ask again before they count as dead, however slow this machine is.
    const auto ask_again_in_time = [&](std::size_t next) {
      if (std::chrono::steady_clock::now() - asked < lua::k_our_wait / 5) return;
      for (std::size_t i = next; i < f.locks.size(); ++i) CHECK_FALSE(f.asks(f.locks[i]));
      asked = std::chrono::steady_clock::now();
    };
    for (int i = 1; i <= count; ++i) {
      ask_again_in_time(1);
      names.push_back((i % 2 == 0 ? "u:" : "r:") + std::to_string(i));
      if (i % 2 == 0) {
        CHECK_FALSE(f.asks(f.make(names.back())));
      } else {
        CHECK_FALSE(
            peers.try_emplace(names.back(), f.server, names.back()).first->second.acquire());
      }
    }
    CHECK(test::deadline_ahead(f.server, names.back()) <=
          k_lease + (count + 1) / 2 * Peer::k_wait.count() + k_slack);
    // All ask once more.
    for (std::size_t i = 1; i < f.locks.size(); ++i) CHECK_FALSE(f.asks(f.locks[i]));
    CHECK(f.locks[0].release(f.client) == lock::Release::freed);
    for (std::size_t i = 0; i < names.size(); ++i) {
      CAPTURE(i);
      REQUIRE(queue(f.server).front() == names[i]);
      const std::size_t next = (i + 1) / 2;  // of rlock's
      if (names[i][0] == 'r') {
        REQUIRE(peers.at(names[i]).acquire());
      } else {
        REQUIRE(f.asks(f.locks[next]));
      }
      ask_again_in_time(next + 1);
      if (names[i][0] == 'r') {
        peers.at(names[i]).unlock();
      } else {
        CHECK(f.locks[next].release(f.client) == lock::Release::freed);
      }
    }
  }
}

// The client would drop a deadline that is not an hour ahead.
TEST_CASE("W4: one Redisson client whose clock is wrong does not change the order" *
          doctest::test_suite("W4")) {
  for (const auto skew :
       {std::chrono::minutes(61), std::chrono::minutes(5), std::chrono::minutes(-60)}) {
    CAPTURE(skew.count());
    test::FairFixture f;
    REQUIRE(f.asks(f.make("u:0")));
    Peer first(f.server, "r:1", skew);
    Peer third(f.server, "r:3", skew);
    for (Peer* peer : {&first, &third}) peer->listen();
    CHECK_FALSE(first.acquire());
    CHECK_FALSE(f.asks(f.make("u:2")));
    CHECK_FALSE(third.acquire());
    CHECK(f.locks[0].release(f.client) == lock::Release::freed);
    REQUIRE(first.acquire());
    CHECK_FALSE(f.asks(f.locks[1]));  // it is called with the head
    CHECK_FALSE(third.acquire());
    first.unlock();
    CHECK(queue(f.server) == Words{"u:2", "r:3"});
    REQUIRE(f.asks(f.locks[1]));
    CHECK_FALSE(third.acquire());
    CHECK(f.locks[1].release(f.client) == lock::Release::freed);
    CHECK(third.messages() == 1);
    CHECK(third.acquire());
  }
}

// Redisson has dropped it when its deadline had passed. It does not change other deadlines then.
TEST_CASE("fair deadlines: a dead Redisson waiter no longer counts when Redisson has dropped it") {
  test::FairFixture f;
  REQUIRE(f.asks(f.make("u:0")));
  Peer dead(f.server, "r:1");
  CHECK_FALSE(dead.acquire());
  f.line_up({"u:2"});
  Peer behind(f.server, "r:3");
  CHECK_FALSE(behind.acquire());
  f.line_up({"u:4"});
  f.server.command({"ZADD", k_scores, std::to_string(test::server_time(f.server)), "r:1"});
  CHECK_FALSE(f.asks(f.locks[1]));
  CHECK_FALSE(behind.acquire());
  REQUIRE(queue(f.server) == Words{"u:2", "r:3", "u:4"});
  for (int i : {1, 2}) CHECK_FALSE(f.asks(f.locks[static_cast<std::size_t>(i)]));
  CHECK(test::deadline_ahead(f.server, "u:2") <= k_lease + k_slack);
  CHECK(test::deadline_ahead(f.server, "u:4") <= k_lease + Peer::k_wait.count() + k_slack);
}

// Redisson's script answers with the time until the last deadline, and its client waits forever if
// that is negative.
TEST_CASE("W5: a new Redisson waiter behind a dead rlock waiter is told to wait for a while" *
          doctest::test_suite("W5")) {
  test::FairFixture f;
  test::hold_by_other(f.server, Milliseconds(k_lease));
  f.line_up({"u:1", "u:2"});
  f.server.command({"ZADD", k_scores, std::to_string(test::server_time(f.server) - 1000), "u:2"});
  CHECK_FALSE(f.asks(f.locks[0]));
  CHECK(test::deadline_ahead(f.server, "u:2") > 0);
  CHECK(test::deadline_ahead(f.server, "u:2") <= test::deadline_ahead(f.server, "u:1") + k_slack);
  // A Redisson waiter keeps the deadline that it has made itself.
  CHECK_FALSE(Peer(f.server, "r:3").acquire());
  const std::string score = f.server.command({"ZSCORE", k_scores, "r:3"});
  CHECK_FALSE(f.asks(f.locks[0]));
  CHECK(f.server.command({"ZSCORE", k_scores, "r:3"}) == score);
}

// Each step is a script of its own: nobody else waits for the whole.
TEST_CASE(
    "W5: a thousand dead waiters are swept step by step, and those behind lose no time by it" *
    doctest::test_suite("W5")) {
  test::FairFixture f;
  test::hold_by_other(f.server, Milliseconds(k_lease));
  f.line_up({"u:1"});
  Peer peer(f.server, "r:1");
  CHECK_FALSE(peer.acquire());
  // They have waited for long, and nobody listens for them.
  f.server.command({"EVAL",
                    "for i = 1, 1000 do redis.call('lpush', KEYS[1], 'dead:' .. i) "
                    "redis.call('zadd', KEYS[2], ARGV[1] - i, 'dead:' .. i) end",
                    "2", test::k_queue, k_scores, std::to_string(test::server_time(f.server))});
  f.expire();
  const long before = test::script_calls(f.server);
  REQUIRE(f.asks(f.locks.front()));
  CHECK(test::script_calls(f.server) - before >= 10);
  CHECK(queue(f.server) == Words{"r:1"});
  CHECK(f.server.command({"ZCARD", k_scores}) == "1");
  CHECK(test::deadline_ahead(f.server, "r:1") > Peer::k_wait.count());
  CHECK(test::deadline_ahead(f.server, "r:1") <= k_lease + Peer::k_wait.count() + k_slack);
}
