// S7: the guardian is stopped, or does not answer.
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "cli/lease/family.hpp"
#include "cli/lease/guardians.hpp"
#include "support/looks.hpp"

using namespace rlock::test;

namespace {

void wait_for_another_guardian(pid_t rlock, pid_t before) {
  REQUIRE(wait_until([&] {
    const pid_t now = guardian_of(rlock);
    return now > 0 && now != before;
  }));
}

// A command that is deaf to SIGTERM, under an rlock that is killed once `disturb` is done.
void outlives_no_lease(bool waits,
                       const std::function<void(pid_t rlock, pid_t guardian)>& disturb) {
  const Server server;
  const std::string mark = "stopped-" + server.directory();
  if (waits) server.command({"HSET", "job", "another:1", "1"});
  Process rlock(rlock_argv("exec", "-q", "-r", server.unix_url(), "--lease", "6s", "job", "--",
                           "sh", "-c", "trap '' TERM; : " + mark + "; " + until_go(server, 0)));
  if (!waits) rlock.wait_for_stdout("started");
  const pid_t guardian = wait_for_guardian_of(rlock.pid());
  disturb(rlock.pid(), guardian);
  if (waits) {
    server.command({"DEL", "job"});
    server.command({"PUBLISH", "redisson_lock__channel:{job}", "0"});
    rlock.wait_for_stdout("started");
  }
  wait_for_another_guardian(rlock.pid(), guardian);
  rlock.signal(SIGKILL);
  rlock.wait_exit();
  CHECK(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
  CHECK(processes_with(mark).empty());
}

}  // namespace

TEST_CASE("S7: a guardian that was stopped is replaced" * doctest::test_suite("S7")) {
  bool waits = false;
  SUBCASE("while rlock waited for the lock") { waits = true; }
  SUBCASE("while the command ran") {}
  outlives_no_lease(waits, [](pid_t, pid_t guardian) { stop(guardian); });
}

TEST_CASE("S7: a guardian that does not answer is replaced" * doctest::test_suite("S7")) {
  bool waits = false;
  SUBCASE("before the command starts") { waits = true; }
  SUBCASE("with a renewal") {}
  std::optional<Debugged> debugged;
  outlives_no_lease(waits, [&](pid_t rlock, pid_t guardian) {
    debugged.emplace(guardian);
    if (!debugged->works()) ::kill(guardian, SIGKILL);
    if (!waits) wait_for_another_guardian(rlock, guardian);
  });
}

TEST_CASE("S7: a guardian that does not answer is replaced long before the lease could end" *
          doctest::test_suite("S7")) {
  const Server server;
  Process rlock(rlock_argv("exec", "-q", "-r", server.unix_url(), "--lease", "2s", "job", "--",
                           "sh", "-c", until_go(server, 0)));
  rlock.wait_for_stdout("started");
  const pid_t guardian = wait_for_guardian_of(rlock.pid());
  const long before = scripts_run(server);
  const Debugged debugged(guardian);
  if (!debugged.works()) ::kill(guardian, SIGKILL);
  wait_for_another_guardian(rlock.pid(), guardian);
  CHECK(scripts_run(server) < before + 5);  // renewals: 3 s, and more on a slow machine
  say_go(server);
  CHECK(rlock.wait().status == 0);
}

TEST_CASE("S7: a guardian that does not answer is replaced, also if no renewal moves its alarm" *
          doctest::test_suite("S7")) {
  const Server server;
  // Long enough for a second question before the command is ended.
  std::vector<std::string> argv =
      rlock_argv("exec", "-q", "-r", server.unix_url(), "--lease", "20s");
  SUBCASE("--no-watchdog") { argv.emplace_back("--no-watchdog"); }
  SUBCASE("--on-lost ignore") { argv.insert(argv.end(), {"--on-lost", "ignore"}); }
  argv.insert(argv.end(), {"job", "--", "sh", "-c", until_go(server, 0)});
  Process rlock(argv);
  rlock.wait_for_stdout("started");
  const pid_t guardian = wait_for_guardian_of(rlock.pid());
  const Debugged debugged(guardian);
  if (!debugged.works()) ::kill(guardian, SIGKILL);
  wait_for_another_guardian(rlock.pid(), guardian);
  say_go(server);
  CHECK(rlock.wait().status == 0);
}

TEST_CASE("S7: a guardian is replaced as often as it is stopped" * doctest::test_suite("S7")) {
  const Server server;
  Process rlock(
      rlock_argv("exec", "-r", server.unix_url(), "job", "--", "sh", "-c", until_go(server, 7)));
  rlock.wait_for_stdout("started");
  for (int i = 0; i < 5; ++i) {
    const pid_t guardian = wait_for_guardian_of(rlock.pid());
    stop(guardian);
    wait_for_another_guardian(rlock.pid(), guardian);
    CHECK(wait_until([&] { return !process_stat(guardian); }));  // and reaped
  }
  say_go(server);
  const Result result = rlock.wait();
  CHECK(result.status == 7);
  CHECK(result.err.empty());
  CHECK(released(server));
}
