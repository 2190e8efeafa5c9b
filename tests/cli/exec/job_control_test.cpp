// S8 on a real terminal, below a shell with job control.
// Labels: long
#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "cli/exec/job_shell.hpp"
#include "support/looks.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"

using namespace rlock::test;

TEST_CASE("S8: Ctrl-Z stops the whole job, and fg lets it go on while the lock is ours" *
          doctest::test_suite("S8")) {
  Shell shell;
  shell.line("$RLOCK exec job -- sh $DIR/beat.sh");
  shell.wait_for_beats();
  for (int i = 0; i < 2; ++i) {
    shell.stop_with_ctrl_z();
    shell.line("fg");
    shell.wait_for_beats();
  }
  shell.keys("\x03");
  shell.expect("ready> ");
  shell.expect_status(130);
  CHECK(shell.clean());
}

TEST_CASE("S8: after each stop the server is asked once" * doctest::test_suite("S8")) {
  Shell shell;
  const auto requests = [&](int stops) {
    const long before = scripts_run(shell.server);
    shell.line("$RLOCK exec --lease 10m job -- sh $DIR/beat.sh");
    shell.wait_for_beats();
    for (int i = 0; i < stops; ++i) {
      shell.stop_with_ctrl_z();
      shell.line("fg");
      shell.wait_for_beats();
    }
    shell.keys("\x03");
    shell.expect("ready> ");
    return scripts_run(shell.server) - before;
  };
  requests(0);  // the server comes to know the scripts
  const long first = requests(1);
  CHECK(requests(2) == first + 1);
  CHECK(requests(4) == first + 3);
  CHECK(shell.clean());
}

TEST_CASE("S8: bg lets the job go on as well" * doctest::test_suite("S8")) {
  Shell shell;
  shell.line("$RLOCK exec job -- sh $DIR/beat.sh");
  shell.wait_for_beats();
  shell.stop_with_ctrl_z();
  shell.line("bg");
  shell.expect("ready> ");
  shell.wait_for_beats();
  shell.line("kill %1; wait %1", "ready> ");
  CHECK(shell.clean());
}

TEST_CASE("S8: after a stop, the command does not go on when the lock is no longer ours" *
          doctest::test_suite("S8")) {
  Shell shell;
  std::string lease = "30s";
  bool stolen = true;
  bool is_late = false;
  SUBCASE("deleted") { stolen = false; }
  SUBCASE("stolen") {}
  SUBCASE("stolen, and --at-most has passed") {
    lease += " --at-most 10s";
    is_late = true;
    // The first process starts no other after that: Ctrl-Z stops no shell in the middle of a vfork.
    shell.write("beat.sh",
                "trap 'echo TERM >>$DIR/log; exit' TERM\n"
                "while :; do echo child >>$DIR/log; echo parent >>$DIR/log; sleep 0.02; done &\n"
                "wait\n");
  }
  SUBCASE("expired") {
    lease = "6s";
    stolen = false;
  }

  const double start = uptime();
  shell.line("$RLOCK exec --lease " + lease + " job -- sh $DIR/beat.sh");
  shell.wait_for_beats();
  const auto running = shell.job();
  shell.stop_with_ctrl_z();
  const std::string log = shell.read("log");
  if (lease == "6s") {
    CHECK(wait_until([&] { return shell.server.command({"EXISTS", "job"}) == "0"; }));
  } else {
    shell.server.command({"DEL", "job"});
  }
  if (stolen) shell.server.command({"HSET", "job", "another:1", "1"});
  if (is_late) REQUIRE(wait_until([&] { return uptime() > start + 12; }));
  shell.line("fg");
  shell.expect("lock lost");
  shell.expect("ready> ");
  shell.expect_status(79);
  CHECK(shell.read("log") == log);
  CHECK(std::none_of(running.begin(), running.end(), alive));
  if (stolen) {
    CHECK(shell.server.command({"HGETALL", "job"}) == "another:1\n1");
    shell.server.command({"DEL", "job"});
  }
  CHECK(shell.clean());
}

TEST_CASE("S8: a command that stops itself stops the job" * doctest::test_suite("S8")) {
  Shell shell;
  shell.line("$RLOCK exec job -- sh -c 'kill -STOP $$; exit 9'", "Stopped");
  shell.expect("ready> ");
  shell.line("fg");
  shell.expect("ready> ");
  shell.expect_status(9);
  CHECK(shell.clean());
}

TEST_CASE("S8: a command in the background that stops itself stops rlock, not the rest of its job" *
          doctest::test_suite("S8")) {
  Shell shell;
  shell.line(
      "sh -c 'echo $$ >$DIR/rlock; exec $RLOCK exec job -- sh -c \"kill -STOP \\$\\$\"' | "
      "sh -c 'echo $$ >$DIR/reader; exec cat' &");
  const auto pid = [&](const std::string& name) {
    const std::string text = shell.read(name);
    return text.empty() ? 0 : std::stoi(text);
  };
  REQUIRE(wait_until([&] { return pid("reader") > 0 && pid("rlock") > 0; }));
  CHECK(wait_until([&] { return stopped(pid("rlock")); }));
  CHECK_FALSE(stopped(pid("reader")));
  shell.line("kill -CONT $(cat $DIR/rlock); wait");
  shell.expect("ready> ");
  shell.expect_status(0);
  CHECK(shell.clean());
}
