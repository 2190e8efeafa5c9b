// Leases that end without a word: whoever is next in a fair queue, or waits for a plain lock, knows
// of them, also where others take the lock meanwhile.
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/fair_lock.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

// A waiter that does not know of a lease asks only when 5 s have passed since it asked last.
constexpr auto k_soon = 4s;

bool comes_to_overhear(const Server& server, const std::string& count = "1") {
  return wait_until([&] { return server.command({"PUBSUB", "NUMPAT"}) == count; });
}

// The peer takes the lock for a second, and does not give it back.
void take_briefly(Peer& peer) { CHECK(peer.acquire(1s)); }

}  // namespace

TEST_CASE("W1: behind Redisson's waiters, rlock's first one knows when each of them has the lock" *
          doctest::test_suite("W1")) {
  // Without a word to the waiter none is soon.
  const bool is_soon = one_succeeds([] {
    Server server;
    hold_by_other(server);
    Peer first(server, "r:1");
    Peer second(server, "r:2");
    CHECK_FALSE(first.acquire());
    CHECK_FALSE(second.acquire());
    Process waiter(fair_argv(server, {}, {"echo", "got"}));
    REQUIRE(comes_to_queue(server, 3));
    REQUIRE(comes_to_overhear(server));
    // It does not pass for a sign of the head's life.
    CHECK(server.list({"PUBSUB", "NUMSUB", k_channel + ":r:1"}).back() == "0");
    const Clock::time_point start = Clock::now();
    let_go(server);
    take_briefly(first);
    REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
    take_briefly(second);
    CHECK(waiter.wait().out == "got\n");
    const bool was_soon = Clock::now() - start < k_soon;
    CHECK(comes_to_overhear(server, "0"));
    return was_soon;
  });
  CHECK(is_soon);
}

TEST_CASE("W1: the next one knows of a short lease that rlock has taken and does not renew" *
          doctest::test_suite("W1")) {
  const bool is_soon = one_succeeds([] {
    Server server;
    hold_by_other(server);
    Process brief(rlock_argv("acquire", "--fair", "--lease", "1s", "--no-watchdog", "-r",
                             server.unix_url(), "job"));
    REQUIRE(comes_to_queue(server, 1));
    Process next(fair_argv(server, {}, {"echo", "got"}));
    REQUIRE(comes_to_queue(server, 2));
    const Clock::time_point start = Clock::now();
    let_go(server);
    CHECK(brief.wait().status == 0);
    CHECK(next.wait().out == "got\n");
    return Clock::now() - start < k_soon;
  });
  CHECK(is_soon);
}

TEST_CASE("W1: a waiter for a plain lock knows of the lease of whoever was faster" *
          doctest::test_suite("W1")) {
  const bool is_soon = one_succeeds([] {
    Server server;
    hold_by_other(server);
    Process waiter(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "echo", "got"));
    REQUIRE(comes_to_wait(server));
    const Clock::time_point start = Clock::now();
    server.command({"EVAL",
                    "redis.call('del', KEYS[1]) redis.call('hset', KEYS[1], 'other:2', 1) "
                    "redis.call('pexpire', KEYS[1], 1000) redis.call('publish', ARGV[1], '0')",
                    "1", "job", k_channel});
    CHECK(waiter.wait().out == "got\n");
    return Clock::now() - start < k_soon;
  });
  CHECK(is_soon);
}

TEST_CASE("R3: who may not listen to patterns waits all the same, without a word" *
          doctest::test_suite("R3")) {
  Server server;
  server.command(
      {"ACL", "SETUSER", "default", "resetchannels", "&" + k_channel.substr(0, 22) + "*"});
  hold_by_other(server);
  Peer first(server, "r:1");
  CHECK_FALSE(first.acquire());
  Process waiter(fair_argv(server, {}, {"echo", "got"}));
  REQUIRE(comes_to_queue(server, 2));
  let_go(server);
  CHECK(first.acquire());
  first.unlock();
  const Result result = waiter.wait();
  CHECK(result.out == "got\n");
  CHECK(result.err.empty());
}
