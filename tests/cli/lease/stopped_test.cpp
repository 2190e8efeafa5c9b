// S2, S3, S8: rlock is stopped and continued, while its server is there or not.
// Labels: long
#include <algorithm>
#include <chrono>
#include <csignal>
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "cli/lease/family.hpp"
#include "support/processes.hpp"
#include "support/pty.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

// An interactive shell below which a job is stopped while its server stands still.
struct StoppedJob {
  Server server;
  Pty pty{{"bash", "--norc", "-i"},
          {.env = {{"PS1", "ready> "},
                   {"TERM", "dumb"},
                   {"RLOCK", rlock_program()},
                   {"RLOCK_REDIS", server.unix_url()}},
           .columns = 250}};

  StoppedJob(const std::string& options, const std::string& script) {
    pty.expect("ready> ");
    pty.type("$RLOCK exec " + options + " job -- bash -c '" + script + "'\r");
    pty.expect(
        "star"
        "ted.");
    pty.type("\x1a");
    pty.expect("Stopped");
    pty.expect("ready> ");
    server.pause();
  }
  void expect_status(int status) {
    pty.expect("ready> ");
    pty.type("echo status=$?.\r");
    pty.expect("status=" + std::to_string(status) + ".");
  }
};

// The command is told to end, with status 7, and rlock has nothing to say.
void ends_in_peace(const Server& server, Process& rlock) {
  say_go(server);
  const Result result = rlock.wait();
  CHECK(result.status == 7);
  CAPTURE(result.err);
  CHECK(result.err.empty());
  CHECK(released(server));
}

// Waits until rlock, too, knows of the renewal that the server told of: until it has nothing to do.
void wait_until_known(const Server& server, pid_t rlock) {
  pttl(server);  // by now the server has sent what it answered to rlock
  REQUIRE(wait_until([&] {
    const std::filesystem::directory_iterator tasks("/proc/" + std::to_string(rlock) + "/task");
    return std::all_of(begin(tasks), end(tasks), [](const auto& task) {
      const auto stat = process_stat(std::stoi(task.path().filename().string()));
      return stat && stat->state == 'S';
    });
  }));
}

}  // namespace

TEST_CASE("S3: SIGCONT while the server is away does not end the command" *
          doctest::test_suite("S3")) {
  Server server;
  Process rlock(rlock_argv("exec", "-r", server.unix_url(), "--timeout", "2s", "job", "--", "bash",
                           "-c", "trap 'echo continued' CONT; " + until_go(server, 7)));
  rlock.wait_for_stdout("started");
  server.pause();
  for (int i = 0; i < 3; ++i) rlock.signal(SIGCONT);
  rlock.wait_for_stdout("continued");
  server.resume();
  ends_in_peace(server, rlock);
}

TEST_CASE("S8: after a stop, a server that does not answer is no reason to end the command" *
          doctest::test_suite("S8")) {
  StoppedJob job("--timeout 20s",
                 "trap \"echo on; exit 7\" CONT; echo star''ted.; "
                 "while :; do sleep 0.02; done");
  job.pty.type("fg\r");
  job.pty.expect("\r\non\r\n");
  job.server.resume();
  job.expect_status(7);
}

TEST_CASE("S8: after a stop, SIGTERM reaches the command although the server does not answer" *
          doctest::test_suite("S8")) {
  StoppedJob job("--timeout 20s",
                 "trap \"echo ended; exit 7\" TERM; echo star''ted.; "
                 "while :; do sleep 0.02; done");
  job.pty.type("kill %1; fg\r");
  job.pty.expect("\r\nended\r\n");
  job.server.resume();
  job.expect_status(7);
}

TEST_CASE("--at-most: the time is kept also while a server is asked after a stop") {
  StoppedJob job("--timeout 20s --at-most 5s",
                 "trap \"echo ended; exit 7\" TERM; echo star''ted.; "
                 "while :; do sleep 0.02; done");
  job.pty.type("fg\r");
  job.pty.expect("\r\nended\r\n");
  job.server.resume();
  job.expect_status(124);
}

TEST_CASE("S8: rlock that was stopped past the time for SIGTERM still renews a lease that lasts" *
          doctest::test_suite("S8")) {
  Server server;
  // Without a renewal SIGTERM comes where 8.5 s of the lease are left, and SIGKILL 8 s later.
  Process rlock(rlock_argv("exec", "-r", server.unix_url(), "--lease", "24s", "--kill-after", "8s",
                           "job", "--", "bash", "-c", until_go(server, 7)));
  rlock.wait_for_stdout("started");
  wait_for_renewal(server);  // from now on the watchdog keeps the lock
  wait_until_known(server, rlock.pid());
  rlock.signal(SIGSTOP);
  REQUIRE(wait_until([&] { return pttl(server) < 8'300; }));
  rlock.signal(SIGCONT);
  CHECK(wait_until([&] { return pttl(server) > 16'000; }));
  ends_in_peace(server, rlock);
}

TEST_CASE(
    "S7: a stopped rlock that goes on just before the lease ends says that the lock was lost" *
    doctest::test_suite("S7")) {
  Server server;
  const std::string mark = "struck-" + server.directory();
  Process rlock(rlock_argv("exec", "-r", server.unix_url(), "--lease", "6s", "job", "--", "sh",
                           "-c", "echo started; : " + mark + "; while :; do sleep 0.02; done"));
  rlock.wait_for_stdout("started");
  rlock.signal(SIGSTOP);
  // The guardian's time comes before the lease's end, so that rlock can still renew it.
  REQUIRE(wait_until([&] { return processes_with(mark) == std::vector<pid_t>{rlock.pid()}; }));
  rlock.signal(SIGCONT);
  const Result result = rlock.wait();
  CHECK(result.status == 79);
  CAPTURE(result.err);
  CHECK(result.err.starts_with("rlock: job: lock lost: "));
  CHECK(is_one_message(result.err));
  CHECK(released(server));
}

TEST_CASE("S7: however rlock notices after a stop that the lock was lost, it says so once" *
          doctest::test_suite("S7")) {
  Server server;
  std::deque<Process> runs;
  // Which of its threads is first is chance.
  for (int run = 0; run < 16; ++run) {
    runs.emplace_back(rlock_argv("exec", "-r", server.unix_url(), "--lease", "2s",
                                 "job" + std::to_string(run), "--", "sh", "-c",
                                 "echo started; exec sleep 60"));
  }
  for (Process& run : runs) run.wait_for_stdout("started");
  for (Process& run : runs) {
    REQUIRE(wait_until([&] { return threads_of(run.pid()) == 2; }));
    run.signal(SIGSTOP);
  }
  for (int run = 0; run < 16; ++run) {
    const std::string name = "job" + std::to_string(run);
    REQUIRE(wait_until([&] { return server.command({"EXISTS", name}) == "0"; }));
  }
  for (Process& run : runs) run.signal(SIGCONT);
  for (Process& run : runs) {
    const Result result = run.wait();
    CHECK(result.status == 79);
    CAPTURE(result.err);
    CHECK(has(result.err, ": lock lost: "));
    CHECK(is_one_message(result.err));
  }
}

TEST_CASE("S7: below a stopped rlock, nothing lives longer than the lease, whatever it has become" *
          doctest::test_suite("S7")) {
  Server server;
  Family family(server, server.unix_url(), {"--lease", "6s"});
  family.rlock().signal(SIGSTOP);
  REQUIRE(wait_until([&] { return stopped(family.rlock().pid()); }));
  const double lease_end = uptime() + static_cast<double>(pttl(server)) / 1000 + 0.01;
  CHECK(wait_until([&] {
    const auto alive = family.alive();
    return std::all_of(alive.begin(), alive.end(),
                       [&](pid_t pid) { return pid == family.rlock().pid(); });
  }));
  CHECK(family.last_beat() < lease_end);
  family.rlock().signal(SIGCONT);
  CHECK(family.rlock().wait_exit().status == 79);
}
