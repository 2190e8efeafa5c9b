// C1 and S2: signals that rlock gets, while it waits and while the command runs.
// Labels: quick
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/proxy.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

using Names = std::vector<std::pair<int, std::string>>;

// Signals that end a process, those that do not, and a real-time one, with bash's names.
const Names& forwarded_signals() {
  static const Names names = {{SIGHUP, "HUP"},   {SIGINT, "INT"},   {SIGQUIT, "QUIT"},
                              {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}, {SIGWINCH, "WINCH"},
                              {SIGALRM, "ALRM"}, {SIGURG, "URG"},   {SIGPIPE, "PIPE"},
                              {SIGCONT, "CONT"}, {SIGTERM, "TERM"}, {SIGRTMIN + 3, "RTMIN+3"}};
  return names;
}

// A bash script that writes the name of each signal that it gets, and ends when `last` comes.
// `wait` gives way to a trap at once; its sleep is out of reach of signals to the group.
std::string note_signals(const std::string& last) {
  std::string script;
  for (const auto& [number, name] : forwarded_signals()) {
    script += "trap 'echo got " + name + "' " + name + "\n";
  }
  script += "trap 'kill -9 $sleeper; echo end; exit 7' " + last + "\n";
  return script +
         "setsid sleep 1000 >/dev/null 2>&1 & sleeper=$!\necho ready\n"
         "while :; do wait $sleeper; done\n";
}

std::string run_and_signal(Process& rlock, bool whole_group) {
  rlock.wait_for_stdout("ready");
  std::string expected = "ready\n";
  for (const auto& [number, name] : forwarded_signals()) {
    whole_group ? rlock.signal_group(number) : rlock.signal(number);
    rlock.wait_for_stdout("got " + name + "\n");
    expected += "got " + name + "\n";
  }
  rlock.signal(SIGRTMIN + 5);
  return expected + "end\n";
}

std::unique_ptr<Process> start_waiter(const Server& server, const std::string& file,
                                      const ProcessOptions& options = {}) {
  server.command({"HSET", "job", "another:1", "1"});
  server.command({"PEXPIRE", "job", "600000"});
  auto waiter = std::make_unique<Process>(
      rlock_argv("exec", "-r", server.unix_url(), "job", "--", "touch", file), options);
  REQUIRE(comes_to_wait(server));
  return waiter;
}

}  // namespace

TEST_CASE("C1: each signal reaches the command exactly once" * doctest::test_suite("C1")) {
  Server server;
  const std::vector<std::string> argv = rlock_argv("exec", "-r", server.unix_url(), "job", "--",
                                                   "bash", "-c", note_signals("RTMIN+5"));
  bool whole_group = false;
  SUBCASE("sent to rlock") {}
  SUBCASE("sent to rlock's process group") { whole_group = true; }

  Process rlock(argv);
  const std::string expected = run_and_signal(rlock, whole_group);
  const Result result = rlock.wait();
  CHECK(result.out == expected);
  CAPTURE(result.err);
  CHECK_FALSE(has(result.err, "rlock"));  // bash tells of its sleep's end
  CHECK(result.status == 7);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("C1: a signal reaches the command's children, as it would from a terminal" *
          doctest::test_suite("C1")) {
  Server server;
  Process rlock(rlock_argv(
      "exec", "-r", server.unix_url(), "job", "--", "bash", "-c",
      "trap 'wait; echo parent; exit 3' TERM; "
      "bash -c 'trap \"echo child; exit 0\" TERM; echo ready; while :; do sleep 0.02; done' & "
      "wait; wait"));
  rlock.wait_for_stdout("ready");
  rlock.signal(SIGTERM);
  const Result result = rlock.wait();
  CHECK(has(result.out, "child\n"));
  CHECK(result.status == 3);
}

TEST_CASE("C1: a command that handles SIGTERM keeps the lock until it has ended" *
          doctest::test_suite("C1")) {
  Server server;
  const std::string go = server.directory() + "/go";
  Process rlock(rlock_argv(
      "exec", "-r", server.unix_url(), "--lease", "6s", "--kill-after", "100ms", "job", "--", "sh",
      "-c",
      "trap 'echo TERM' TERM; echo ready; while [ ! -e " + go + " ]; do sleep 0.02; done; exit 4"));
  rlock.wait_for_stdout("ready");
  rlock.signal(SIGTERM);
  rlock.wait_for_stdout("TERM");
  long before = pttl(server);
  CHECK(wait_until([&] {  // it is still renewed
    const long now = pttl(server);
    return std::exchange(before, now) < now;
  }));
  CHECK(run({"touch", go}).status == 0);
  const Result result = rlock.wait();
  CHECK(result.status == 4);
  CHECK(result.out == "ready\nTERM\n");
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("C1: a signal that ends the command is the exit status, and the lock is free" *
          doctest::test_suite("C1")) {
  Server server;
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGRTMIN + 1}) {
    Process rlock(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "sh", "-c",
                             "echo ready; exec sleep 1000"));
    rlock.wait_for_stdout("ready");
    rlock.signal(number);
    const Result result = rlock.wait();
    CHECK(result.status == 128 + number);
    CHECK(result.err.empty());
    CHECK(comes_to_be_empty(server));
  }
}

TEST_CASE("C1: a command that stops and goes on without a terminal is left alone" *
          doctest::test_suite("C1")) {
  Server server;
  Process rlock(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "sh", "-c",
                           "echo $$; sleep 1000 & wait; exit 6"));
  rlock.wait_for_stdout("\n");
  const pid_t child = std::stoi(rlock.out());
  rlock.signal(SIGTSTP);
  REQUIRE(wait_until([&] { return stopped(child); }));
  rlock.signal(SIGCONT);
  REQUIRE(wait_until([&] { return !stopped(child); }));
  ::kill(child, SIGUSR1);
  CHECK(rlock.wait_exit().status == 128 + SIGUSR1);
}

TEST_CASE("C1: a command that somebody has stopped hears that it is to end" *
          doctest::test_suite("C1")) {
  Server server;
  Process rlock(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "sh", "-c",
                           "echo $$; kill -STOP $$; exec sleep 1000"));
  rlock.wait_for_stdout("\n");
  const pid_t child = std::stoi(rlock.out());
  REQUIRE(wait_until([&] { return stopped(child); }));
  int signal = 0;
  SUBCASE("by SIGTERM") { signal = SIGTERM; }
  SUBCASE("by SIGINT") { signal = SIGINT; }
  SUBCASE("by SIGHUP") { signal = SIGHUP; }
  SUBCASE("by SIGQUIT") { signal = SIGQUIT; }
  SUBCASE("but nothing else lets it go on") {
    signal = SIGUSR1;
    rlock.signal(signal);
    // Of the signals to a process that is stopped, the kernel tells in hexadecimal.
    REQUIRE(wait_until([&] {
      std::ifstream status("/proc/" + std::to_string(child) + "/status");
      std::string line;
      while (std::getline(status, line) && !line.starts_with("ShdPnd:")) {
      }
      return line.ends_with("0000000200");
    }));
    CHECK(stopped(child));
    ::kill(child, SIGCONT);
  }
  if (signal != SIGUSR1) rlock.signal(signal);
  CHECK(rlock.wait().status == 128 + signal);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("S2: a signal while waiting ends rlock; the command is not run and no trace is left" *
          doctest::test_suite("S2")) {
  Server server;
  const std::string file = server.directory() + "/started";
  for (const int number :
       {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE, SIGRTMIN}) {
    const auto waiter = start_waiter(server, file);
    waiter->signal(number);
    const Result result = waiter->wait();
    CHECK(result.status == 128 + number);
    CHECK(result.out.empty());
    CHECK_FALSE(std::filesystem::exists(file));
    CHECK(server.keys() == std::vector<std::string>{"job"});
    CHECK(server.command({"HGETALL", "job"}) == "another:1\n1");
  }
}

TEST_CASE("S2: a signal that comes just before the lock does wins" * doctest::test_suite("S2")) {
  Server server;
  const std::string file = server.directory() + "/started";
  const auto waiter = start_waiter(server, file);
  waiter->signal(SIGSTOP);
  REQUIRE(wait_until([&] { return stopped(waiter->pid()); }));
  CHECK(run(rlock_argv("unlock", "-r", server.unix_url(), "--force", "-y", "--kind", "hash", "job"))
            .status == 0);
  waiter->signal(SIGTERM);
  waiter->signal(SIGCONT);
  CHECK(waiter->wait().status == 128 + SIGTERM);
  CHECK_FALSE(std::filesystem::exists(file));
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("S2: a signal that comes between the grant and the start prevents the start" *
          doctest::test_suite("S2")) {
  Server server;
  // The server knows the script from now on: the first long reply is the grant.
  REQUIRE(run(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "true")).status == 0);
  Proxy proxy(server.port());
  const std::string file = server.directory() + "/started";
  proxy.set_delay(1s);
  Process rlock(rlock_argv("exec", "-r", proxy.url(), "job", "--", "touch", file));
  REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "1"; }));
  proxy.set_mode(Mode::blackhole);  // the grant does not arrive before the signal
  const bool in_time =
      proxy.bytes_to_client() <= std::string_view("+OK\r\n").size();  // to CLIENT SETNAME
  rlock.signal(SIGTERM);
  REQUIRE(wait_until([&] { return !rlock.running() || proxy.open_connections() == 0; }));
  proxy.set_mode(Mode::pass);
  const Result result = rlock.wait();
  if (in_time) {
    CHECK(result.status == 128 + SIGTERM);
    CHECK_FALSE(std::filesystem::exists(file));
  }
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("S2: a signal that waits for rlock before it begins prevents the start" *
          doctest::test_suite("S2")) {
  Server server;
  std::vector<std::string> argv{"python3", "-c",
                                "import os, signal, sys\n"
                                "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
                                "os.kill(os.getpid(), signal.SIGTERM)\n"
                                "os.execv(sys.argv[1], sys.argv[1:])\n"};
  for (const std::string& word :
       rlock_argv("exec", "-r", server.unix_url(), "job", "--", "echo", "ran")) {
    argv.push_back(word);
  }
  const Result result = run(argv);
  CHECK(result.status == 128 + SIGTERM);
  CHECK(result.out.empty());
  CHECK(result.err.empty());
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("C2: signals that the caller ignores stay ignored, waiting or running" *
          doctest::test_suite("C2")) {
  Server server;
  const std::string file = server.directory() + "/started";
  const auto waiter = start_waiter(server, file, {.ignore_signals = {SIGHUP, SIGINT}});
  waiter->signal(SIGHUP);
  waiter->signal(SIGINT);
  CHECK(run(rlock_argv("unlock", "-r", server.unix_url(), "--force", "-y", "--kind", "hash", "job"))
            .status == 0);
  CHECK(waiter->wait().status == 0);
  CHECK(std::filesystem::exists(file));

  Process rlock(
      rlock_argv("exec", "-r", server.unix_url(), "job", "--", "sh", "-c", "echo ready; exec cat"),
      {.hold_stdin = true, .ignore_signals = {SIGHUP, SIGINT}});
  rlock.wait_for_stdout("ready");
  rlock.signal(SIGHUP);
  rlock.signal_group(SIGINT);
  rlock.write_stdin("still there\n");
  rlock.wait_for_stdout("still there");
  rlock.close_stdin();
  CHECK(rlock.wait().status == 0);
}
