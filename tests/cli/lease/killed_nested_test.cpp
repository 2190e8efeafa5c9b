// S3 and S7 where a command under rlock is another rlock: what one run has left, the other waits
// for.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "cli/lease/family.hpp"
#include "cli/lease/guardians.hpp"
#include "cli/lease/nested.hpp"
#include "cli/lease/tracing.hpp"

using namespace rlock::test;

TEST_CASE("S7: an outer run keeps its lock while the guardian of a killed inner run ends the rest" *
          doctest::test_suite("S7")) {
  Nested nested;
  std::vector<std::string> kind;
  std::vector<std::string> inner{"inner"};
  SUBCASE("another lock") {}
  SUBCASE("the same string lock") {
    kind = {"--kind", "simple"};
    inner = {"--kind", "simple", "outer"};
  }
  SUBCASE("below a shell, and several of them") { inner = {"several", "more", "names"}; }
  bool lacks_list = false;
  SUBCASE("on a kernel that has no list of a process's children") {
    if (!can_trace()) return;
    lacks_list = true;
  }

  std::vector<std::string> argv =
      rlock_argv("exec", "-r", nested.server.unix_url(), kind, "outer", "--");
  if (inner.size() > 3) argv.insert(argv.end(), {"sh", "-c", "\"$@\"; exit 3", "sh"});
  const auto more = rlock_argv("exec", "-r", nested.server.unix_url(), "--lease", "6s");
  argv.insert(argv.end(), more.begin(), more.end());
  argv.insert(argv.end(), inner.begin(), inner.end());
  argv.insert(argv.end(), {"--", "sh", "-c", nested.deaf()});
  if (lacks_list) {
    // A shell that becomes rlock is traced already. LeakSanitizer fails in what is traced.
    const std::string traced =
        "export ASAN_OPTIONS=detect_leaks=0; "
        "strace -o /dev/null -p $$ -P /proc/$$/task/$$/children -e inject=openat:error=ENOENT "
        "2>traced & until grep -q attached traced; do sleep 0.02; done; exec \"$@\"";
    argv.insert(argv.begin(), {"sh", "-c", traced, "sh"});
  }
  Process rlock(argv, {.cwd = nested.directory});
  ::kill(nested.inner(), SIGKILL);
  REQUIRE(wait_until([&] { return nested.server.command({"EXISTS", "outer"}) == "0"; }));
  CHECK_FALSE(nested.command_runs());
  const Result result = rlock.wait();
  CHECK(result.status == 128 + SIGKILL);
}

TEST_CASE("S3: an outer run renews its lock while the rest of a killed inner run has time to end" *
          doctest::test_suite("S3")) {
  Nested nested;
  Process rlock(
      rlock_argv("exec", "-r", nested.server.unix_url(), "--lease", "5s", "outer", "--",
                 rlock_argv("exec", "-r", nested.server.unix_url(), "--lease", "30s",
                            "--kill-after", "9s", "inner", "--", "sh", "-c", nested.deaf())),
      {.cwd = nested.directory});
  ::kill(nested.inner(), SIGKILL);
  const Result result = rlock.wait();
  CHECK(result.status == 128 + SIGKILL);
  CHECK(result.err.empty());
  CHECK_FALSE(nested.command_runs());
}

TEST_CASE("S7: an outer run that cannot look at a guardian for want of descriptors keeps its lock" *
          doctest::test_suite("S7")) {
  if (!can_trace()) return;
  Nested nested;
  Process rlock(rlock_argv("exec", "-r", nested.server.unix_url(), "outer", "--",
                           rlock_argv("exec", "-r", nested.server.unix_url(), "--lease", "6s",
                                      "inner", "--", "sh", "-c", nested.deaf())),
                {.cwd = nested.directory});
  const pid_t inner = nested.inner();
  const std::string stat = "/proc/" + std::to_string(wait_for_guardian_of(inner)) + "/stat";
  const auto strace = hampered(rlock.pid(), "openat:error=EMFILE", stat);
  ::kill(inner, SIGKILL);
  bool is_held = true;
  REQUIRE(wait_until([&] {
    is_held = nested.server.command({"EXISTS", "outer"}) == "1";
    return !is_held || !nested.command_runs();
  }));
  CHECK(is_held);
  strace->signal(SIGTERM);
  CHECK(rlock.wait().status == 128 + SIGKILL);
}

TEST_CASE("C1: what a command has left behind does not hear signals that come after its end" *
          doctest::test_suite("C1")) {
  Nested nested;
  // The outer command ends with the inner rlock; what is under that goes on until it is told to.
  const auto inner =
      rlock_argv("exec", "-r", nested.server.unix_url(), "--lease", "1m", "inner", "--", "sh", "-c",
                 "trap '' TERM; echo $PPID >" + nested.directory + "/inner; while [ ! -e " +
                     nested.directory + "/end ]; do sleep 0.02; done");
  std::vector<std::string> argv =
      rlock_argv("exec", "-r", nested.server.unix_url(), "outer", "--", "sh", "-c",
                 "sleep 1000 >/dev/null 2>&1 & echo $$ $!; \"$@\"; exit 3", "sh");
  argv.insert(argv.end(), inner.begin(), inner.end());
  Process rlock(argv);
  rlock.wait_for_stdout("\n");
  pid_t command = 0;
  pid_t left = 0;
  std::istringstream(rlock.out()) >> command >> left;
  REQUIRE(alive(left));
  ::kill(nested.inner(), SIGKILL);
  // rlock sleeps again: it has seen the end of its command.
  const auto is = [](pid_t pid, char state) {
    const auto stat = process_stat(pid);
    return stat && stat->state == state;
  };
  REQUIRE(wait_until([&] { return is(command, 'Z') && is(rlock.pid(), 'S'); }));
  rlock.signal(SIGUSR1);
  std::ofstream(nested.directory + "/end") << "now";
  CHECK(rlock.wait().status == 3);
  CHECK(alive(left));
  ::kill(left, SIGKILL);
}

TEST_CASE("C3: an inner run that works on in the background does not keep the outer lock" *
          doctest::test_suite("C3")) {
  Nested nested;
  const Result result = run(
      rlock_argv("exec", "-r", nested.server.unix_url(), "outer", "--", "sh", "-c",
                 rlock_program() + " exec -r " + nested.server.unix_url() + " inner -- sh -c '" +
                     until_go(nested.server, 0) + "' >/dev/null 2>&1 & while [ $(redis-cli -s " +
                     nested.server.unix_path() + " EXISTS inner) = 0 ]; do sleep 0.02; done"));
  CHECK(result.status == 0);
  CHECK(nested.server.command({"EXISTS", "outer"}) == "0");
  CHECK(nested.server.command({"EXISTS", "inner"}) == "1");
  say_go(nested.server);
  CHECK(comes_to_be_empty(nested.server));
}

TEST_CASE("C1: the command of an inner run gets SIGTERM once when the outer run is ended" *
          doctest::test_suite("C1")) {
  Server server;
  const std::string done = server.directory() + "/done";
  // It writes a line for each, and ends when nothing has come for a while. Where it waits, a shell
  // is quick enough to tell two signals from one.
  const std::string count =
      "trap 'echo TERM' TERM; sleep 1000 & echo ready; until wait $!; do sleep 0.3 & done";
  bool killed = false;
  SUBCASE("by --at-most") {}
  SUBCASE("by its guardian") { killed = true; }

  for (int i = 0; i < (killed ? 5 : 2); ++i) {
    std::vector<std::string> argv = rlock_argv("exec", "-r", server.unix_url());
    if (!killed) argv.insert(argv.end(), {"--at-most", "4s"});  // a busy machine starts it first
    argv.insert(argv.end(), {"outer", "--"});
    const auto inner =
        rlock_argv("exec", "-r", server.unix_url(), "inner", "--", "bash", "-c", count);
    argv.insert(argv.end(), inner.begin(), inner.end());
    Process rlock(argv);
    rlock.wait_for_stdout("ready");
    if (killed) rlock.signal(SIGKILL);
    const Result result = rlock.wait();
    CHECK(result.out == "ready\nTERM\n");
    REQUIRE(wait_until([&] { return server.command({"EXISTS", "inner"}) == "0"; }));
    server.command({"DEL", "outer"});
  }
}
