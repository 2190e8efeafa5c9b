// C1 on a real terminal: who gets the signals of its keys, and whose it is.
// Labels: long
#include <csignal>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "cli/exec/job_shell.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"

using namespace rlock::test;

TEST_CASE("C1: Ctrl-C reaches the command exactly once, and so does Ctrl-backslash" *
          doctest::test_suite("C1")) {
  Shell shell;
  // It waits for no child in the background: a signal that comes right before goes
  // unnoticed.
  shell.write("count.sh",
              "trap 'echo got-INT' INT; trap 'echo got-QUIT' QUIT\n"
              "trap 'echo WINCH >>$DIR/winch' WINCH\n"
              "echo counting\n"
              "while [ ! -e $DIR/go ]; do setsid sleep 0.02; done\n"
              "exit 3\n");
  shell.line("$RLOCK exec job -- bash $DIR/count.sh >$DIR/out");
  REQUIRE(wait_until([&] { return shell.read("out") == "counting\n"; }));
  std::string expected = "counting\n";
  for (const auto& [key, text] : {std::pair{"\x03", "got-INT\n"},
                                  {"\x1c", "got-QUIT\n"},
                                  {"\x03", "got-INT\n"},
                                  {"\x03", "got-INT\n"}}) {
    shell.keys(key);
    expected += text;
    REQUIRE(wait_until([&] { return shell.read("out").size() >= expected.size(); }));
  }
  shell.write("go", "");
  shell.expect("ready> ");
  shell.expect_status(3);
  CHECK(shell.read("out") == expected);
  CHECK(shell.clean());
}

TEST_CASE("C1: Ctrl-C while rlock waits ends it, and the shell sees that" *
          doctest::test_suite("C1")) {
  Shell shell;
  shell.server.command({"HSET", "job", "another:1", "1"});
  shell.server.command({"PEXPIRE", "job", "600000"});
  shell.line("$RLOCK exec job -- touch $DIR/started; echo not reached");
  REQUIRE(comes_to_wait(shell.server));
  shell.keys("\x03");
  shell.expect("ready> ");
  shell.expect_status(130);

  // Ctrl-Z and fg: it goes on waiting.
  shell.line("$RLOCK exec job -- touch $DIR/started");
  REQUIRE(comes_to_wait(shell.server));
  shell.keys("\x1a");
  shell.expect("Stopped");
  shell.expect("ready> ");
  shell.line("fg");
  shell.server.command({"DEL", "job"});
  shell.server.command({"PUBLISH", "redisson_lock__channel:{job}", "0"});
  shell.expect("ready> ");
  shell.expect_status(0);
  shell.line("ls $DIR", "started");
  CHECK(shell.clean());
}

TEST_CASE("C1: a program that reads the terminal works" * doctest::test_suite("C1")) {
  Shell shell;
  shell.line("$RLOCK exec job -- sh -c 'echo run''ning; cat'", "running\r\n");
  shell.keys("hello\r");
  shell.expect("hello\r\nhello\r\n");
  shell.keys("\x04");
  shell.expect("ready> ");
  shell.expect_status(0);

  // Not in the foreground at first, since its output is no terminal: it gets it when it asks.
  shell.line("$RLOCK exec job -- sh -c 'echo run''ning; cat' | cat", "running\r\n");
  shell.keys("again\r");
  shell.expect("again\r\nagain\r\n");
  shell.keys("\x04");
  shell.expect("ready> ");
  shell.line("echo status=${PIPESTATUS[0]}.", "status=0.");
  shell.expect("ready> ");

  // Ctrl-C ends the pipeline as a whole.
  shell.line("$RLOCK exec job -- sh -c 'echo run''ning; cat' | sh -c 'cat; sleep 1000'",
             "running\r\n");
  shell.keys("third\r");
  shell.expect("third\r\nthird\r\n");
  shell.keys("\x03");
  shell.expect("ready> ");
  CHECK(shell.idle());
  CHECK(shell.clean());
}

TEST_CASE("C1: a full-screen program works, and what it did to the terminal does not outlive it" *
          doctest::test_suite("C1")) {
  Shell shell;
  shell.write("raw.sh",
              "old=$(stty -g); stty raw -echo; printf 'in-raw-mode\\n'\n"
              "key=$(dd bs=1 count=1 2>/dev/null | od -An -tx1)\n"
              "stty $old; echo key=$key.\n");
  shell.line("$RLOCK exec job -- sh $DIR/raw.sh", "in-raw-mode");
  shell.keys("\x03");  // a key like any other now
  shell.expect("key= 03.");
  shell.expect("ready> ");

  shell.write("killed.sh",
              "$RLOCK exec job -- sh -c 'stty raw -echo; kill -9 $$'\n"
              "echo status=$?.; stty -a | tr ' ;' '\\n\\n' | grep -x -e icanon -e echo\n");
  shell.line("sh $DIR/killed.sh", "status=137.");
  shell.expect("icanon");
  shell.expect("echo");
  shell.expect("ready> ");
  CHECK(shell.clean());
}

TEST_CASE("C1: a job in the background and a job in a script work" * doctest::test_suite("C1")) {
  Shell shell;
  shell.line("$RLOCK exec job -- sh -c 'echo in the $0' background & wait $!", "in the background");
  shell.expect("ready> ");
  shell.expect_status(0);
  // A script has no job control: rlock is in the script's process group.
  shell.write("script.sh", "$RLOCK exec job -- sh $DIR/beat.sh\necho script-goes-on\n");
  shell.line("bash $DIR/script.sh");
  shell.wait_for_beats();
  shell.stop_with_ctrl_z();
  shell.line("fg");
  shell.wait_for_beats();
  shell.keys("\x03");
  shell.expect("ready> ");
  shell.expect_status(130);
  CHECK(shell.clean());
}

TEST_CASE("C1: Ctrl-C stops a script that runs rlock, wherever its input and output are" *
          doctest::test_suite("C1")) {
  Shell shell;
  std::string command = "$RLOCK exec job -- sh -c 'touch $DIR/started; exec sleep 1000'";
  SUBCASE("on the terminal") {}
  SUBCASE("in a pipeline") { command += " | cat"; }
  SUBCASE("with input that is none") { command += " </dev/null"; }
  SUBCASE("in a pipeline with pipefail") {
    command = "set -o pipefail\n" + command + " | tee $DIR/log";
  }
  shell.write("script.sh", command + "\necho never >$DIR/never\n");
  shell.line("bash $DIR/script.sh");
  REQUIRE(wait_until([&] { return shell.has("started"); }));
  shell.keys("\x03");
  shell.expect("ready> ");
  shell.expect_status(130);
  CHECK_FALSE(shell.has("never"));
  CHECK(shell.clean());
}

TEST_CASE("C1: SIGINT for rlock alone does not reach the script that runs it" *
          doctest::test_suite("C1")) {
  Shell shell;
  shell.write("script.sh",
              "trap 'echo >$DIR/interrupted' INT\n"
              "$RLOCK exec job -- sh -c 'echo $PPID >$DIR/rlock; exec sleep 1000'\n"
              "echo status=$?.\n");
  shell.line("bash $DIR/script.sh");
  REQUIRE(wait_until([&] { return !shell.read("rlock").empty(); }));
  ::kill(std::stoi(shell.read("rlock")), SIGINT);
  shell.expect("status=130.");
  shell.expect("ready> ");
  CHECK_FALSE(shell.has("interrupted"));
  CHECK(shell.clean());
}

TEST_CASE("C1: a command that dies on a terminal that shows nothing more gives its lock back" *
          doctest::test_suite("C1")) {
  const Server server;
  const Pty pty({"sh", "-c",
                 rlock_program() + " exec -r " + server.unix_url() +
                     " --lease 6s job -- bash -c '(yes & touch " + server.directory() +
                     "/started); sleep 1; kill -9 $$'"});
  REQUIRE(wait_until([&] { return std::ifstream(server.directory() + "/started").good(); }));
  CHECK(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
}

TEST_CASE("C1: two jobs in the background of a script leave it its terminal" *
          doctest::test_suite("C1")) {
  Shell shell;
  shell.write("script.sh",
              "$RLOCK exec a -- sh -c 'touch $DIR/a; exec sleep 6' & "
              "$RLOCK exec b -- sh -c 'touch $DIR/b; exec sleep 6' &\nwait\n");
  shell.line("bash $DIR/script.sh");
  REQUIRE(wait_until([&] { return shell.has("a") && shell.has("b"); }));
  shell.keys("\x03");
  shell.expect("ready> ");  // the script's end, not the jobs', which ignore it
  shell.expect_status(130);
  CHECK(shell.clean());
}

TEST_CASE("C1: the end of the terminal ends the command" * doctest::test_suite("C1")) {
  Shell shell;
  shell.line("$RLOCK exec job -- sh $DIR/beat.sh");
  shell.wait_for_beats();
  shell.hang_up();
  CHECK(wait_until([&] { return processes_with(shell.mark).empty(); }));
  CHECK(shell.server.command({"EXISTS", "job"}) == "0");
}
