// Redlock with servers that hang, or that answer too late.
// Labels: long
#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "cli/servers/redlock_faults_fixture.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/quorum.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::redlock_faults;
using namespace std::chrono_literals;

TEST_CASE("Redlock: answers that come after the lease are no lock (K2)") {
  Quorum quorum(3);
  const std::string look = "redis-cli -s " + quorum[0].unix_path() + " pttl job";
  CHECK(run(quorum.rlock("exec", {"job", "--", "true"})).status == 0);  // they know the scripts
  // It has to be stopped while it waits for the answers, which it does for 0.4 s.
  for (int tried = 0; tried < 10; ++tried) {
    std::size_t before = 0;
    for (int i = 0; i < 3; ++i) {
      quorum[i].pause();
      before = quorum.proxy(2).requests();
    }
    // Without a delay the first request takes the lock, or else the second, after one for settings.
    Process late(quorum.rlock(
        "exec", {"--restart-delay", "0", "--lease", "4s", "job", "--", "sh", "-c", look}));
    CHECK(wait_until([&] { return quorum.proxy(2).requests() >= before + 2; }));
    late.signal(SIGSTOP);
    CHECK(wait_until([&] { return stopped(late.pid()) || !late.running(); }));
    for (int i = 0; i < 3; ++i) quorum[i].resume();
    const bool is_asked = wait_until([&] { return quorum.having("job") == 3; }, 2s);
    CHECK(quorum.becomes_free_of("job"));  // its lease has ended
    late.signal(SIGCONT);
    const Result result = late.wait();
    if (!is_asked) continue;
    CHECK(result.status == 0);
    CHECK(std::stol(result.out) > 0);  // the command ran under a lease of its own
    CHECK(quorum.becomes_free_of("job"));
    return;
  }
  FAIL("never stopped in time");
}

TEST_CASE("Redlock: a signal while it waits leaves nothing, also with a server that hangs") {
  Quorum quorum(3);
  quorum[2].pause();
  Process holder(quorum.rlock("exec", k_until_told), {.stdin_text = "", .hold_stdin = true});
  holder.wait_for_stdout("in");
  Process waiter(quorum.rlock("exec", {"job", "--", "true"}));
  for (int i = 0; i < 2; ++i) {
    CHECK(comes_to_wait(quorum[i]));
  }
  waiter.signal(SIGTERM);
  CHECK(waiter.wait().status == 143);
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
  quorum[2].resume();
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("Redlock: a server that hangs holds nothing up, however often the lock was asked for") {
  Quorum quorum(3);
  const std::vector<std::string> options = {"--timeout", "2s", "--lease", "60s"};
  Process holder(quorum.rlock("exec", with(options, k_until_told)),
                 {.stdin_text = "", .hold_stdin = true});
  holder.wait_for_stdout("in");
  CHECK(wait_until([&] { return quorum.having("job") == 3; }));
  quorum[2].pause();
  Process waiter(quorum.rlock("exec", with(options, k_until_told)),
                 {.stdin_text = "", .hold_stdin = true});
  const std::string channel = "redisson_lock__channel:{job}";
  for (int i = 0; i < 2; ++i) {
    CHECK(comes_to_wait(quorum[i]));
  }
  // Each call has the waiter ask again, far more often than the third server could time out.
  for (int call = 0; call < 100; ++call) {
    const std::size_t before = quorum.proxy(0).requests();
    for (int i = 0; i < 2; ++i) quorum[i].command({"PUBLISH", channel, "0"});
    REQUIRE(wait_until([&] { return quorum.proxy(0).requests() > before; }));
  }
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
  waiter.wait_for_stdout("in");
  quorum[1].pause();  // now the third has to be heard before the release is over
  waiter.close_stdin();
  CHECK(waiter.wait(45s).status == 0);
  quorum[1].resume();
  quorum[2].resume();
}

TEST_CASE("Redlock: the end of a nested run does not wait for a server that hangs") {
  Quorum quorum(3);
  const std::vector<std::string> options = {"--timeout", "2m", "--lease", "30m"};
  const std::string inner = quoted(quorum.rlock("exec", with(options, {"job", "--", "true"})));
  Process outer(quorum.rlock("exec", with(options, {"job", "--", "sh", "-c",
                                                    "echo in; read x; " + inner + "; echo $?"})),
                {.stdin_text = "", .hold_stdin = true});
  outer.wait_for_stdout("in");
  CHECK(wait_until([&] { return quorum.having("job") == 3; }));
  quorum[2].pause();
  outer.close_stdin();
  outer.wait_for_stdout("in\n0\n");
  CHECK(outer.wait().status == 0);
  quorum[2].resume();
  CHECK(quorum.becomes_free_of("job"));
}
