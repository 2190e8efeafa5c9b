// Runs that do not wait (-n), and a free fair lock whose first waiter is dead.
// Labels: long
#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/fair_lock.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

// Leaves the lock free, and in its queue `count` waiters that were killed.
void leave_dead_waiters(const Server& server, int count, const std::vector<std::string>& options) {
  hold_by_other(server);
  for (int i = 1; i <= count; ++i) {
    Process waiter(fair_argv(server, options, {"true"}));
    REQUIRE(comes_to_queue(server, i));
    waiter.signal(SIGKILL);
    waiter.wait();
  }
  server.command({"DEL", "job"});
}

void leave_dead_head(const Server& server) { leave_dead_waiters(server, 1, {}); }

std::vector<std::string> acquire_argv(const Server& server) {
  return rlock_argv("acquire", "-r", server.unix_url(), "-n", "--fair", "--no-watchdog", "job");
}

// As if the head had been called so long ago that it is dead.
void let_time_pass(const Server& server) {
  REQUIRE(wait_until([&] { return server.command({"HEXISTS", k_info, "called"}) == "1"; }));
  date_back_call(server, std::chrono::seconds(8));
}

}  // namespace

TEST_CASE("W5: -n decides whether the head of a free fair lock is dead, and takes the lock" *
          doctest::test_suite("W5")) {
  Server server;
  leave_dead_head(server);
  std::vector<std::string> argv;
  SUBCASE("exec") { argv = fair_argv(server, {"-n"}, {"echo", "ran"}); }
  SUBCASE("exec -E 0") { argv = fair_argv(server, {"-n", "-E", "0"}, {"echo", "ran"}); }
  SUBCASE("exec -w 0") { argv = fair_argv(server, {"-w", "0"}, {"echo", "ran"}); }
  SUBCASE("acquire") { argv = acquire_argv(server); }
  Process run(argv);
  let_time_pass(server);
  const Result result = run.wait();
  CHECK(result.status == 0);
  CHECK_FALSE(result.out.empty());
  CHECK(result.err.empty());
}

TEST_CASE("W5: -n decides about each of several dead waiters, and takes the lock" *
          doctest::test_suite("W5")) {
  Server server;
  leave_dead_waiters(server, 3, {"--fair-wait", "1h"});
  Process run(fair_argv(server, {"-n"}, {"echo", "ran"}));
  for (std::size_t left = 4; left > 1; --left) {
    REQUIRE(wait_until([&] { return queue(server).size() == left; }));
    let_time_pass(server);
  }
  const Result result = run.wait();
  CHECK(result.status == 0);
  CHECK(result.out == "ran\n");
  CHECK(result.err.empty());
}

TEST_CASE("W5: -n gives up at once if somebody takes the lock meanwhile, and leaves no trace" *
          doctest::test_suite("W5")) {
  Server server;
  leave_dead_head(server);
  Process run(fair_argv(server, {"-n"}, {"echo", "ran"}));
  REQUIRE(comes_to_queue(server, 2));
  hold_by_other(server);
  const Result result = run.wait();
  CHECK(result.status == 75);
  CHECK(result.out.empty());
  CHECK(queue(server).size() == 1);
}
