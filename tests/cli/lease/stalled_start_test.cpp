// S2 and S7: the system takes longer to start the command than the lease lasts, as a dead network
// file system can. strace makes that last call wait.
// Labels: long unsanitized
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "cli/lease/family.hpp"
#include "cli/lease/tracing.hpp"

using namespace rlock::test;

namespace {

// rlock with a lease of 1 s, whose command the system starts 2.5 s late.
struct Stalled {
  Server server;
  std::string program = server.directory() + "/slow-sh";
  std::string started = server.directory() + "/started";
  std::string mark = "stalled-" + server.directory();
  Process strace{{"strace",
                  "-f",
                  "-o",
                  server.directory() + "/trace",
                  "-P",
                  program,
                  "-e",
                  "trace=execve",
                  "-e",
                  "inject=execve:delay_enter=7500000",
                  rlock_program(),
                  "exec",
                  "-r",
                  server.unix_url(),
                  "--lease",
                  "3s",
                  "--kill-after",
                  "100ms",
                  "job",
                  "--",
                  copied(program),
                  "-c",
                  "touch " + started + "; : " + mark + "; while :; do sleep 0.02; done"}};
  pid_t rlock = find_rlock();

  static std::string copied(const std::string& path) {
    std::filesystem::copy_file("/bin/sh", path);
    return path;
  }
  // The run that has the lock, and whose command is on its way.
  [[nodiscard]] pid_t find_rlock() const {
    pid_t found = -1;
    REQUIRE(wait_until([&] {
      for (const pid_t pid : processes_with(mark)) {
        const auto stat = process_stat(pid);
        if (stat && stat->parent == strace.pid()) found = pid;
      }
      return found > 0 && server.command({"EXISTS", "job"}) == "1";
    }));
    return found;
  }
};

}  // namespace

TEST_CASE("S2: a command that the system starts too late does not run" *
          doctest::test_suite("S2")) {
  if (!can_trace()) return;
  Stalled stalled;
  bool killed = false;
  SUBCASE("while rlock waits for it") {}
  SUBCASE("while rlock is stopped") { ::kill(stalled.rlock, SIGSTOP); }
  SUBCASE("after rlock was killed") {
    ::kill(stalled.rlock, SIGKILL);
    killed = true;
  }

  CHECK(wait_until([&] { return stalled.server.command({"EXISTS", "job"}) == "0"; }));
  if (!killed) ::kill(stalled.rlock, SIGCONT);
  const Result result = stalled.strace.wait();
  CHECK(result.status == (killed ? 128 + SIGKILL : 79));
  CHECK_FALSE(std::filesystem::exists(stalled.started));
  CHECK(wait_until([&] { return processes_with(stalled.mark).empty(); }));
}

TEST_CASE("S2: with --on-lost ignore, too, no command starts after its lease" *
          doctest::test_suite("S2")) {
  if (!can_trace()) return;
  const Server server;
  const Result result = run({"strace",
                             "-f",
                             "-o",
                             "/dev/null",
                             "-e",
                             "trace=setpgid",
                             "-e",
                             "inject=setpgid:delay_enter=4000000",
                             rlock_program(),
                             "exec",
                             "-r",
                             server.unix_url(),
                             "--lease",
                             "2s",
                             "--on-lost",
                             "ignore",
                             "job",
                             "--",
                             "echo",
                             "ran"});
  CHECK(result.status == 79);
  CHECK(result.out.empty());
}

TEST_CASE("S7: the guardian has its name from the start, and rlock keeps its own" *
          doctest::test_suite("S7")) {
  if (!can_trace()) return;
  const Server server;
  // An outer run would take a guardian without its name for a part of its command.
  Process strace({"strace", "-f", "-o", "/dev/null", "-e", "trace=setsid", "-e",
                  "inject=setsid:delay_enter=2000000", rlock_program(), "exec", "-r",
                  server.unix_url(), "job", "--", "sh", "-c", "echo started; read line"},
                 {.stdin_text = "", .hold_stdin = true});
  const auto child_of = [](pid_t parent) {
    pid_t found = 0;
    for (const pid_t pid : processes_in_group(::getpgid(parent))) {
      const auto stat = process_stat(pid);
      if (stat && stat->parent == parent) found = pid;
    }
    return found;
  };
  const auto name = [](pid_t pid) { return contents("/proc/" + std::to_string(pid) + "/comm"); };
  pid_t rlock = 0;
  pid_t guardian = 0;
  REQUIRE(wait_until([&] {
    rlock = child_of(strace.pid());
    guardian = rlock > 0 ? child_of(rlock) : 0;
    return guardian > 0;
  }));
  CHECK(name(guardian) == "lock-guardian\n");
  strace.wait_for_stdout("started");
  CHECK(name(rlock) == "rlock\n");
  strace.close_stdin();
  CHECK(strace.wait().status == 1);
}

TEST_CASE("S7: no command starts before its guardian is out of reach of what kills rlock's group" *
          doctest::test_suite("S7")) {
  if (!can_trace()) return;
  const Server server;
  const std::string mark = "apart-" + server.directory();
  Process rlock({"strace", "-f", "-o", "/dev/null", "-e", "trace=setsid", "-e",
                 "inject=setsid:delay_enter=500000", rlock_program(), "exec", "-r",
                 server.unix_url(), "--lease", "6s", "job", "--", "sh", "-c",
                 "exec 2>/dev/null; echo started; : " + mark + "; while :; do sleep 0.02; done"});
  rlock.wait_for_stdout("started");
  rlock.signal_group(SIGKILL);
  rlock.wait_exit();
  CHECK(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
  CHECK(processes_with(mark).empty());
}

TEST_CASE("--at-least counts from when the command has started, however late that is") {
  if (!can_trace()) return;
  const Server server;
  const std::string program = Stalled::copied(server.directory() + "/slow-sh");
  const Result result = run({"strace",
                             "-f",
                             "-o",
                             "/dev/null",
                             "-P",
                             program,
                             "-e",
                             "trace=execve",
                             "-e",
                             "inject=execve:delay_enter=4000000",
                             rlock_program(),
                             "exec",
                             "-r",
                             server.unix_url(),
                             "--at-least",
                             "60s",
                             "job",
                             "--",
                             program,
                             "-c",
                             "date +%s%3N"});
  REQUIRE(result.status == 0);
  const std::string about = server.command({"HGETALL", "rlock_info:{job}"});
  const std::size_t at = about.find("\"outlived\":");
  CAPTURE(about);
  REQUIRE(at != std::string::npos);
  // The command tells the time a little after it has started.
  CHECK(std::stoll(about.substr(at + 11)) > std::stoll(result.out) + 60'000 - 2'000);
}

TEST_CASE("C3: a wait for the command that a signal interrupts is made again" *
          doctest::test_suite("C3")) {
  if (!can_trace()) return;
  const Server server;
  const Result result = run({"strace", "-f", "-o", "/dev/null", "-e", "trace=waitid,wait4", "-e",
                             "inject=waitid,wait4:error=EINTR:when=1..40", rlock_program(), "exec",
                             "-r", server.unix_url(), "job", "--", "sh", "-c", "exit 7"});
  CHECK(result.status == 7);
  CHECK(server.keys().empty());
}
