// S7: what is left when rlock itself is killed.
// Labels: longest
#include <algorithm>
#include <chrono>
#include <csignal>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "cli/lease/family.hpp"
#include "cli/lease/guardians.hpp"
#include "cli/lease/tracing.hpp"
#include "support/contents.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

const std::string k_channel = "redisson_lock__channel:{job}";

// A command under `rlock exec` that writes a line with its name and the time to a log as often as
// it can, and so do its children: one deaf to SIGTERM, and a daemon in a session of its own.
struct Job {
  Server server;
  std::string log = server.directory() + "/beats";
  std::string mark = "job-" + server.directory();

  [[nodiscard]] std::vector<std::string> argv(const std::vector<std::string>& options) const {
    const std::string beat = write_beat_script(server);
    return rlock_argv("exec", "-r", server.unix_url(), options, "job", "--", "sh", "-c",
                      "sh " + beat + " deaf deaf & (setsid sh " + beat +
                          " daemon deaf &) ; exec sh " + beat + " main");
  }
  [[nodiscard]] ProcessOptions options() const { return {.env = {{"LOG", log}, {"MARK", mark}}}; }
  [[nodiscard]] std::string beats() const { return contents(log); }
  void wait_until_all_beat() const {
    REQUIRE(wait_until([&] {
      const std::string text = beats();
      return has(text, "deaf ") && has(text, "daemon ") && has(text, "main ");
    }));
  }
  [[nodiscard]] double last_beat() const {
    std::istringstream text(beats());
    double last = 0;
    std::string name;
    double when = 0;
    while (text >> name >> when) last = std::max(last, when);
    return last;
  }
  // Until when, on the clock of uptime(), the server holds the key at most.
  [[nodiscard]] double lease_end() const {
    const double left = std::stod(server.command({"PTTL", "job"})) / 1000;
    return uptime() + left + 0.01;
  }
  // rlock, its guardian, the command and all that it started.
  [[nodiscard]] bool all_gone() const { return processes_with(mark).empty(); }
};

// Returns the guardian of rlock, once it has looked for all processes of the command. It does so
// every few seconds, and sleeps in between.
pid_t guardian_that_has_looked(pid_t rlock) {
  const pid_t guardian = wait_for_guardian_of(rlock);
  for (int i = 0; i < 2; ++i) {
    const long before = sleeps_of(guardian);
    REQUIRE(wait_until([&] { return sleeps_of(guardian) > before; }));
  }
  return guardian;
}

}  // namespace

TEST_CASE("S7: after kill -9 of rlock, nothing of the command lives longer than the lease" *
          doctest::test_suite("S7")) {
  Job job;
  std::vector<std::string> options{"--lease", "7s"};
  bool whole_group = false;
  SUBCASE("rlock alone") {}
  SUBCASE("rlock's process group") { whole_group = true; }
  SUBCASE("with --on-lost kill") { options.insert(options.end(), {"--on-lost", "kill"}); }
  SUBCASE("with --no-watchdog") { options.emplace_back("--no-watchdog"); }

  Process rlock(job.argv(options), job.options());
  job.wait_until_all_beat();
  whole_group ? rlock.signal_group(SIGKILL) : rlock.signal(SIGKILL);
  CHECK(rlock.wait_exit().status == 128 + SIGKILL);
  const double lease_end = job.lease_end();
  CHECK(wait_until([&] { return job.all_gone(); }));
  CHECK(job.last_beat() < lease_end);
  // Nobody renews it any longer.
  CHECK(comes_to_be_empty(job.server));
}

TEST_CASE("S7: a daemon without its environment is ended, too, if it has lived for a while" *
          doctest::test_suite("S7")) {
  Server server;
  SUBCASE("that got the lock at once") {}
  SUBCASE("that had to wait, for longer than a guardian looks whether the command runs") {
    server.command({"HSET", "job", "another:1", "1"});
    server.command({"PEXPIRE", "job", "1500"});
  }
  Family family(server, server.unix_url(), {"--lease", "30s", "--kill-after", "100ms"});
  guardian_that_has_looked(family.rlock().pid());
  family.rlock().signal(SIGKILL);
  CHECK(wait_until([&] { return family.alive().empty(); }));
}

TEST_CASE("S7: a process whose first thread has ended is ended like any other" *
          doctest::test_suite("S7")) {
  const Server server;
  std::vector<std::string> argv = rlock_argv("exec", "-r", server.unix_url(), "--lease", "6s");
  bool killed = false;
  SUBCASE("by rlock") { argv.insert(argv.end(), {"--at-most", "4s", "--kill-after", "100ms"}); }
  SUBCASE("by the guardian") { killed = true; }
  // The kernel shows such a process as a zombie.
  argv.insert(argv.end(), {"job", "--", "sh", "-c", "setsid python3 -c \"$0\" & wait",
                           "import ctypes, os, threading, time\n"
                           "threading.Thread(target=time.sleep, args=(1000,)).start()\n"
                           "print(os.getpid(), flush=True)\n"
                           "ctypes.CDLL(None).pthread_exit(None)\n"});
  Process rlock(argv);
  rlock.wait_for_stdout("\n");
  const pid_t pid = std::stoi(rlock.out());
  REQUIRE(wait_until([&] {
    const auto stat = process_stat(pid);
    return stat && stat->state == 'Z';
  }));
  CHECK(threads_of(pid) > 1);
  if (killed) rlock.signal(SIGKILL);
  CHECK(rlock.wait_exit().status == (killed ? 128 + SIGKILL : 124));
  if (killed) REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
  CHECK(threads_of(pid) <= 1);
}

TEST_CASE("S7: who has neither the command's group nor its environment is found by its parent" *
          doctest::test_suite("S7")) {
  Server server;
  const std::string mark = "bare-" + server.directory();
  Process rlock(
      rlock_argv("exec", "-r", server.unix_url(), "--lease", "5s", "job", "--", "sh", "-c",
                 "setsid env -i MARK=$0 sh -c 'sleep 1000 & echo started; wait' & wait", mark));
  // What is forked between the guardian's search and its signal is nobody's child afterwards.
  rlock.wait_for_stdout("started");
  rlock.signal(SIGKILL);
  CHECK(wait_until([&] { return processes_with(mark).empty(); }));
}

TEST_CASE(
    "S7: rlock that dies before its guardian has looked leaves nothing of the command's group" *
    doctest::test_suite("S7")) {
  Server server;
  const std::string pid = server.directory() + "/pid";
  // Neither its parents nor its environment tell of the command.
  const std::string job = "(env -i sleep 1000 & echo $! >" + pid +
                          "; until grep -qs sleep /proc/$!/comm; do :; done); kill -9 $PPID";
  CHECK(run(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "sh", "-c", job)).status ==
        137);
  const pid_t hidden = std::stoi(contents(pid));
  CHECK(wait_until([&] { return !alive(hidden); }));
}

TEST_CASE("S7: a guardian that the system denies descriptors for a while still ends the command" *
          doctest::test_suite("S7")) {
  if (!can_trace()) return;
  Server server;
  Family family(server, server.unix_url(), {"--lease", "60s", "--kill-after", "100ms"});
  const pid_t guardian = guardian_that_has_looked(family.rlock().pid());
  const auto strace = hampered(guardian, "openat:error=ENFILE:when=1..40");
  family.rlock().signal(SIGKILL);
  CHECK(wait_until([&] { return family.alive().empty(); }));
}

TEST_CASE("S7: a guardian whose searches become slow still ends the command within its lease" *
          doctest::test_suite("S7")) {
  if (!can_trace()) return;
  Job job;
  Process rlock(job.argv({"--no-watchdog", "--lease", "24s", "--kill-after", "8s"}), job.options());
  job.wait_until_all_beat();
  const pid_t guardian = guardian_that_has_looked(rlock.pid());
  const auto strace = hampered(guardian, "getdents64:delay_enter=1000000");
  // Soon, rlock itself would end the command: the lease ends before the time of --kill-after.
  REQUIRE(wait_until([&] { return std::stol(job.server.command({"PTTL", "job"})) < 9'500; }));
  rlock.signal(SIGKILL);
  rlock.wait_exit();
  const double lease_end = job.lease_end();
  CHECK(wait_until([&] { return job.all_gone(); }));
  CHECK(job.last_beat() < lease_end);
}

TEST_CASE("S7: with --on-lost ignore, too, a dead rlock leaves nothing behind" *
          doctest::test_suite("S7")) {
  Job job;
  Process rlock(job.argv({"--lease", "5s", "--on-lost", "ignore"}), job.options());
  job.wait_until_all_beat();
  rlock.signal(SIGKILL);
  CHECK(wait_until([&] { return job.all_gone(); }));
}

TEST_CASE("S7: the command of a killed rlock gets SIGTERM and the time of --kill-after" *
          doctest::test_suite("S7")) {
  Server server;
  const std::string mark = "polite-" + server.directory();
  Process rlock(
      rlock_argv("exec", "-r", server.unix_url(), "--lease", "60s", "job", "--", "sh", "-c",
                 "trap 'echo cleaned up; exit 0' TERM; echo started; "
                 "while :; do sleep 0.02; done"),
      {.env = {{"MARK", mark}}});
  rlock.wait_for_stdout("started");
  rlock.signal(SIGKILL);
  CHECK(rlock.wait().out == "started\ncleaned up\n");
  CHECK(wait_until([&] { return processes_with(mark).empty(); }));
}

TEST_CASE("S7: a guardian that gives the command time to end sleeps between its looks" *
          doctest::test_suite("S7")) {
  Server server;
  const std::string mark = "deaf-" + server.directory();
  Process rlock(rlock_argv("exec", "-r", server.unix_url(), "--lease", "90s", "--kill-after", "20s",
                           "job", "--", "sh", "-c", "trap '' TERM; echo started; exec sleep 1000"),
                {.env = {{"MARK", mark}}});
  rlock.wait_for_stdout("started");
  const pid_t guardian = guardian_that_has_looked(rlock.pid());
  rlock.signal(SIGKILL);
  const long before = sleeps_of(guardian);
  CHECK(wait_until([&] { return sleeps_of(guardian) > before + 50; }));
  kill_processes_with(mark);
}

TEST_CASE("S7: a stopped rlock does not let the command work on when the lease ends" *
          doctest::test_suite("S7")) {
  Job job;
  bool waits = false;
  SUBCASE("that had the lock at once") {}
  SUBCASE("that had to wait for it") { waits = true; }

  if (waits) job.server.command({"HSET", "job", "another:1", "1"});
  Process rlock(job.argv({"-q", "--lease", "7s"}), job.options());
  if (waits) {
    REQUIRE(comes_to_wait(job.server));
    job.server.command({"DEL", "job"});
    job.server.command({"PUBLISH", k_channel, "0"});
  }
  job.wait_until_all_beat();
  rlock.signal(SIGSTOP);
  REQUIRE(wait_until([&] { return stopped(rlock.pid()); }));  // it renews no longer
  const double lease_end = job.lease_end();
  // What is left is rlock alone, still stopped.
  CHECK(wait_until([&] { return processes_with(job.mark) == std::vector<pid_t>{rlock.pid()}; }));
  CHECK(stopped(rlock.pid()));
  CHECK(job.last_beat() < lease_end);
  REQUIRE(wait_until([&] { return job.server.command({"EXISTS", "job"}) == "0"; }));
  job.server.command({"HSET", "job", "another:1", "1"});
  rlock.signal(SIGCONT);
  const Result result = rlock.wait_exit();
  CHECK(result.status == 79);
  CAPTURE(result.err);
  CHECK(has(result.err, "job: lock lost"));
  CHECK(job.server.command({"HGETALL", "job"}) == "another:1\n1");
  CHECK(job.server.command({"PTTL", "job"}) == "-1");
  CHECK(job.all_gone());
}

TEST_CASE("S7: a waiter that is killed leaves nothing" * doctest::test_suite("S7")) {
  Server server;
  server.command({"HSET", "job", "another:1", "1"});
  const std::string mark = "waiter-" + server.directory();
  Process rlock(rlock_argv("exec", "-q", "-r", server.unix_url(), "job", "--", "true"),
                {.env = {{"MARK", mark}}});
  REQUIRE(comes_to_wait(server));
  rlock.signal(SIGKILL);
  rlock.wait();
  CHECK(wait_until([&] { return processes_with(mark).empty(); }));
  CHECK(server.keys() == std::vector<std::string>{"job"});
  CHECK(server.command({"HGETALL", "job"}) == "another:1\n1");
}
