// What a waiter tells those who look at it.
// Labels: server
#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/foreign_lock.hpp"
#include "cli/waiting/waiting_fixture.hpp"
#include "support/process.hpp"
#include "support/pty.hpp"
#include "support/resp.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::waits;

TEST_CASE("a lock without an expiry is told once") {
  Server server;
  hold(server, "job", 0);
  const Result result =
      run(rlock_argv("exec", "-w", "2s", "-r", server.unix_url(), "job", "--", "true"));
  CHECK(result.status == 75);
  CHECK(result.err.starts_with("rlock: job: held without an expiry by " + k_foreign_owner));
  CHECK(result.err.ends_with("\nrlock: job: not acquired: held by " + k_foreign_owner + "\n"));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 2);
}

TEST_CASE("a wait without a limit is told to who gives --timeout, as flock(1) names its limit") {
  const Server server;
  hold(server, "job");
  const std::string told =
      "waiting without a limit: --timeout limits each request to the server; -w limits the wait\n";
  const auto waits_with = [&](const Words& options, const std::string& end) {
    Process rlock(rlock_argv("exec", "-r", server.unix_url(), options, "job", "--", "true"));
    rlock.wait_for_stderr(end);
    rlock.signal(SIGTERM);
    return rlock.wait().err;
  };
  CHECK(waits_with({"--timeout", "2"}, told) == "rlock: job: " + told);
  CHECK(waits_with({"--timeout", "2", "other"}, told) == "rlock: job: " + told);
  CHECK_FALSE(has(waits_with({"-v"}, "waiting for"), told));
  const Result quiet = run(rlock_argv("exec", "-q", "-r", server.unix_url(), "--timeout", "2", "-w",
                                      "100ms", "job", "--", "true"));
  CHECK(quiet.status == 75);
  CHECK_FALSE(has(quiet.err, told));
  for (const char* option : {"-n", "--nb", "--nonblock", "--nonblocking", "--wait=0"}) {
    CAPTURE(option);
    const Result result = run(
        rlock_argv("exec", "-r", server.unix_url(), "--timeout", "2", option, "job", "--", "true"));
    CHECK(result.status == 75);
    CHECK(is_one_message(result.err));
    CHECK_FALSE(has(result.err, told));
  }
}

TEST_CASE("a lock that never ends is told also to who skips it in silence") {
  Server server;
  hold(server, "job", 0);
  const std::vector<std::string> skip{"-n", "-E", "0", "job", "--", "true"};
  Words argv = rlock_argv("exec", "-r", server.unix_url(), skip);
  const Result result = run(argv);
  CHECK(result.status == 0);
  CHECK(result.err.starts_with("rlock: job: held without an expiry by " + k_foreign_owner));
  CHECK(is_one_message(result.err));
  argv.insert(argv.begin() + 1, "-q");
  CHECK(run(argv).err.empty());
}

TEST_CASE("with -v a wait without a terminal is told: its start, and its end") {
  Server server;
  hold(server, "job");
  Process rlock(rlock_argv("exec", "-v", "-r", server.unix_url(), "job", "--", "true"));
  rlock.wait_for_stderr("rlock: job: waiting for " + k_foreign_owner);
  server.command({"DEL", "job"});
  server.command({"PUBLISH", channel("job"), "0"});
  const Result result = rlock.wait();
  CHECK(result.status == 0);
  CHECK(has(result.err, "\nrlock: job: acquired after "));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 2);
}

TEST_CASE("a wait on a terminal shows one line, which vanishes") {
  Server server;
  Process holder(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "sh", "-c",
                            "echo ready; cat > /dev/null"),
                 {.hold_stdin = true});
  holder.wait_for_stdout("ready");
  Pty waiter(exec_argv(server.unix_url(), "job"));
  waiter.expect("job: waiting");
  waiter.expect("pid " + std::to_string(holder.pid()) + " (sh)");
  holder.close_stdin();
  waiter.expect("\r\x1b[K");
  waiter.expect("got");
  CHECK(waiter.wait().status == 0);
  CHECK(holder.wait().status == 0);
}

TEST_CASE("a wait that has a limit tells how much of it is left") {
  Server server;
  hold(server, "job");
  SUBCASE("on a terminal") {
    Pty waiter(rlock_argv("exec", "-w", "1h", "-r", server.unix_url(), "job", "--", "true"),
               {.columns = 200});
    waiter.expect("rlock: job: waiting ");
    waiter.expect("s (59m");
    waiter.expect("s left) for " + k_foreign_owner);
  }
  SUBCASE("with -v") {
    Process waiter(
        rlock_argv("exec", "-v", "-w", "1h", "-r", server.unix_url(), "job", "--", "true"));
    waiter.wait_for_stderr("rlock: job: waiting (");
    waiter.wait_for_stderr(" left) for " + k_foreign_owner);
  }
}

TEST_CASE("a waiter takes no part of a terminal that is not its own") {
  Server server;
  hold(server, "job");
  Process waiter(rlock_argv("exec", "-w", "1500ms", "-r", server.unix_url(), "job", "--", "true"));
  const Result result = waiter.wait();
  CHECK(result.status == 75);
  CHECK(is_one_message(result.err));
}

TEST_CASE("a holder of this host that has ended without giving the lock back is told") {
  Server server;
  for (const std::string kind : {"reentrant", "fair", "simple", "write", "semaphore"}) {
    CAPTURE(kind);
    const auto exec = [&](const Words& options, const Words& command) {
      return rlock_argv("exec", kind == "semaphore" ? "--permits=1" : "--kind=" + kind, "-r",
                        server.unix_url(), options, "job", "--", command);
    };
    Process holder(exec({"--lease", "1h"}, {"sh", "-c", "echo in; cat"}), {.hold_stdin = true});
    holder.wait_for_stdout("in");
    CHECK(run(exec({"-n", "-E", "0"}, {"true"})).err.empty());
    holder.signal(SIGKILL);
    CHECK(holder.wait_exit().status == 128 + SIGKILL);
    const Result result = run(exec({"-n", "-E", "0"}, {"echo", "ran"}));
    CHECK(result.status == 0);
    CHECK(result.out.empty());
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK(has(result.err, "which has ended without giving it back; its lease ends in 59m"));
    CHECK(has(result.err, kind == "semaphore" ? "unlock --owner " : "unlock --force "));
    CHECK(run(exec({"-n", "-E", "0", "-q"}, {"true"})).err.empty());
    server.command({"FLUSHALL"});
  }
}
