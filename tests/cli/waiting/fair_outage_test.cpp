// Fair locks on a server that stands still for a while.
#include <chrono>
#include <csignal>
#include <deque>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/contents.hpp"
#include "support/fair_lock.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

TEST_CASE("W3: a pause of the server that is longer than rlock waits for answers leaves no place" *
          doctest::test_suite("W3")) {
  // A Redisson defect: nobody tries again to leave the queue.
  Server server;
  hold_by_other(server);
  Process waiter(fair_argv(server, {"--timeout", "2s"}, {"echo", "got"}));
  REQUIRE(comes_to_queue(server, 1));
  // Longer than --timeout, shorter than it tries to leave.
  server.command({"CLIENT", "PAUSE", "2500", "WRITE"});
  waiter.signal(SIGTERM);
  CHECK(waiter.wait().status == 128 + SIGTERM);
  // A read is answered also while writes wait.
  CHECK(wait_until([&] { return queue(server).empty(); }));
}

TEST_CASE("W4: an outage of the server changes no order, though the lock's lease ends in it" *
          doctest::test_suite("W4")) {
  Server server;
  hold_by_other(server);
  const std::string file = server.directory() + "/turns";
  std::deque<Process> waiters;
  std::string expected;
  for (const char* word : {"1", "2", "3", "4", "5", "6"}) {
    waiters.emplace_back(fair_argv(server, {}, {"sh", "-c", "echo $2 >>$1", "sh", file, word}));
    REQUIRE(comes_to_queue(server, waiters.size()));
    expected += std::string(word) + "\n";
  }
  server.command({"PEXPIRE", "job", "8000"});
  const Clock::time_point start = Clock::now();
  server.pause();
  wait_until([&] { return Clock::now() - start > 10s; });
  server.resume();
  for (Process& waiter : waiters) CHECK(waiter.wait().status == 0);
  CHECK(contents(file) == expected);
}

TEST_CASE("R2: a signal ends the wait also while the server is stopped and its timeout is long" *
          doctest::test_suite("R2")) {
  Server server;
  hold_by_other(server);
  Process waiter(fair_argv(server, {"--timeout", "100s"}, {"echo", "got"}));
  REQUIRE(comes_to_queue(server, 1));
  server.pause();
  waiter.signal(SIGTERM);
  CHECK(wait_until([&] { return !waiter.running(); }));
  server.resume();
  CHECK(waiter.wait().status == 128 + SIGTERM);
  CHECK(wait_until([&] { return queue(server).empty(); }));
}
