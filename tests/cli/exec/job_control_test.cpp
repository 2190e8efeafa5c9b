// S8 and C1 on a real terminal, below a shell with job control.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "support/contents.hpp"
#include "support/looks.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"

using namespace rlock::test;

namespace {

// An interactive shell in which rlock finds its server, and $DIR is a folder with scripts:
// beat.sh writes lines to $DIR/log as often as it can, and so does its child.
class Shell {
 public:
  Shell()
      : pty_({"bash", "--norc", "-i"}, {.env = {{"PS1", "ready> "},
                                                {"TERM", "dumb"},
                                                {"RLOCK", rlock_program()},
                                                {"RLOCK_REDIS", server.unix_url()},
                                                {"DIR", server.directory()},
                                                {"MARK", mark}},
                                        .columns = 250}) {
    write("beat.sh",
          "beat() { while :; do echo $1 >>$DIR/log; sleep 0.02; done; }\n"
          "beat child | beat parent\n");
    pty_.expect("ready> ");
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(server.directory() + "/" + name) << text;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    return contents(server.directory() + "/" + name);
  }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::ifstream(server.directory() + "/" + name).good();
  }
  // Types a line; `output` must come.
  void line(const std::string& text, const std::string& output = "") {
    pty_.type(text + "\r");
    pty_.expect("\n");  // the echo
    if (!output.empty()) pty_.expect(output);
  }
  void keys(const std::string& text) { pty_.type(text); }
  void hang_up() { pty_.signal(SIGHUP); }
  void expect(const std::string& text) { pty_.expect(text); }
  // The status of the last command.
  void expect_status(int status) {
    line("echo status=$?.", "status=" + std::to_string(status) + ".");
    pty_.expect("ready> ");
  }
  // Waits until both processes of beat.sh write (again).
  void wait_for_beats() const {
    const std::size_t before = read("log").size();
    REQUIRE(wait_until([&] {
      const std::string text = read("log");
      return text.find("child", before) != std::string::npos &&
             text.find("parent", before) != std::string::npos;
    }));
  }
  // All processes of the job: rlock, the command and its children, but not the guardian.
  [[nodiscard]] std::vector<pid_t> job() const {
    std::vector<pid_t> found;
    for (const pid_t pid : processes_in_session(pty_.pid())) {
      if (pid != pty_.pid()) found.push_back(pid);
    }
    return found;
  }
  void stop_with_ctrl_z() {
    pty_.type("\x1a");
    pty_.expect("Stopped");
    pty_.expect("ready> ");
    wait_until_all_stand_still();
  }
  void wait_until_all_stand_still() const {
    // A shell whose vfork child was stopped before its exec is in state D until that goes on.
    CHECK(wait_until([&] {
      const auto all = job();
      return std::all_of(all.begin(), all.end(), [](pid_t pid) {
        const auto stat = process_stat(pid);
        return stat && (stat->state == 'T' || stat->state == 'D');
      });
    }));
    CHECK(job().size() >= 3);
  }
  [[nodiscard]] bool idle() const { return pty_.foreground() == pty_.pid(); }
  // rlock and its guardian have left nothing: no process but the shell, no key.
  [[nodiscard]] bool clean() const {
    return wait_until([&] {
      return processes_with(mark) == std::vector<pid_t>{pty_.pid()} &&
             server.command({"EXISTS", "job"}) == "0";
    });
  }

  Server server;
  const std::string mark = "shell-" + server.directory();

 private:
  Pty pty_;
};

}  // namespace

TEST_CASE("S8: Ctrl-Z stops the whole job, and fg lets it go on while the lock is ours") {
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

TEST_CASE("S8: after each stop the server is asked once") {
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

TEST_CASE("S8: bg lets the job go on as well") {
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

TEST_CASE("S8: after a stop, the command does not go on when the lock is no longer ours") {
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

TEST_CASE("S8: a command that stops itself stops the job") {
  Shell shell;
  shell.line("$RLOCK exec job -- sh -c 'kill -STOP $$; exit 9'", "Stopped");
  shell.expect("ready> ");
  shell.line("fg");
  shell.expect("ready> ");
  shell.expect_status(9);
  CHECK(shell.clean());
}

TEST_CASE(
    "S8: a command in the background that stops itself stops rlock, not the rest of its job") {
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

TEST_CASE("C1: Ctrl-C reaches the command exactly once, and so does Ctrl-backslash") {
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

TEST_CASE("C1: Ctrl-C while rlock waits ends it, and the shell sees that") {
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

TEST_CASE("C1: a program that reads the terminal works") {
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

TEST_CASE("C1: a full-screen program works, and what it did to the terminal does not outlive it") {
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

TEST_CASE("C1: a job in the background and a job in a script work") {
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

TEST_CASE("C1: Ctrl-C stops a script that runs rlock, wherever its input and output are") {
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

TEST_CASE("C1: SIGINT for rlock alone does not reach the script that runs it") {
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

TEST_CASE("C1: a command that dies on a terminal that shows nothing more gives its lock back") {
  const Server server;
  const Pty pty({"sh", "-c",
                 rlock_program() + " exec -r " + server.unix_url() +
                     " --lease 6s job -- bash -c '(yes & touch " + server.directory() +
                     "/started); sleep 1; kill -9 $$'"});
  REQUIRE(wait_until([&] { return std::ifstream(server.directory() + "/started").good(); }));
  CHECK(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
}

TEST_CASE("C1: two jobs in the background of a script leave it its terminal") {
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

TEST_CASE("C1: the end of the terminal ends the command") {
  Shell shell;
  shell.line("$RLOCK exec job -- sh $DIR/beat.sh");
  shell.wait_for_beats();
  shell.hang_up();
  CHECK(wait_until([&] { return processes_with(shell.mark).empty(); }));
  CHECK(shell.server.command({"EXISTS", "job"}) == "0");
}
