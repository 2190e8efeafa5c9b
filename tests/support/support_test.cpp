// The helpers themselves: servers, processes and terminals.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "net.hpp"
#include "process.hpp"
#include "processes.hpp"
#include "pty.hpp"
#include "resp.hpp"
#include "server.hpp"
#include "wait_until.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

TEST_CASE("support: a server answers, stops, starts again and leaves nothing") {
  std::string directory;
  pid_t pid = 0;
  {
    Server server(
        {.args = {"--requirepass", "x y", "--appendonly", "yes", "--appendfsync", "always"}});
    directory = server.directory();
    struct stat info {};
    REQUIRE(::stat(directory.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777U) == 0700U);
    CHECK(server.command({"SET", "b", "1"}) == "OK");
    CHECK(server.command({"INCR", "b"}) == "2");
    CHECK(server.command({"GET", "none"}) == "(nil)");
    CHECK(server.command({"NONSENSE"}).starts_with("(error) ERR"));
    CHECK(server.command({"RPUSH", "a", "x", "y\r\n"}) == "2");
    CHECK(server.command({"LRANGE", "a", "0", "-1"}) == "x\ny\r\n");
    CHECK(server.keys() == Strings{"a", "b"});
    RespClient tcp(connect_loopback(server.port()));
    CHECK(tcp.call({"PING"}).at(0).starts_with("(error) NOAUTH"));
    const auto port = server.port();
    server.stop();
    CHECK(server.pid() == -1);
    CHECK_THROWS_AS(server.command({"PING"}), std::runtime_error);
    server.start();
    CHECK(server.port() == port);
    CHECK(server.command({"GET", "b"}) == "2");
    server.pause();
    RespClient frozen(connect_unix(server.unix_path()));
    CHECK_THROWS_AS(frozen.call({"PING"}, 50ms), std::runtime_error);
    server.resume();
    CHECK(server.command({"PING"}) == "PONG");
    server.pause();
    pid = server.pid();
    CHECK(resident_kib(pid) > 100);
  }
  CHECK_FALSE(alive(pid));
  CHECK(resident_kib(pid) == -1);
  CHECK_FALSE(std::filesystem::exists(directory));
  CHECK_THROWS_WITH_AS(Server({.args = {"--no-such-option", "1"}}),
                       doctest::Contains("no-such-option"), std::runtime_error);
}

TEST_CASE("support: processes are found by a marker, zombies are not") {
  const std::string mark = "support-mark-" + std::to_string(::getpid());
  Process sleeper({"sleep", "1000"}, {.env = {{"MARK", mark}}});
  CHECK(processes_with(mark) == std::vector<pid_t>{sleeper.pid()});
  ::kill(sleeper.pid(), SIGKILL);
  CHECK(wait_until([&] { return processes_with(mark).empty(); }));
  // Its environment is gone a moment before it is a zombie.
  CHECK(wait_until([&] { return !alive(sleeper.pid()); }));
  const Result result = sleeper.wait();
  CHECK(result.status == 137);
  CHECK(result.signaled);
}

TEST_CASE("support: a process gives its status, its output and its environment") {
  const Result result = run({"sh", "-c", "cat; echo $A-${B-unset} >&2; pwd; exit 7"},
                            {.env = {{"A", "1"}, {"B", std::nullopt}},
                             .stdin_text = std::string(300'000, 'z'),
                             .cwd = "/"});
  CHECK(result.status == 7);
  CHECK_FALSE(result.signaled);
  CHECK(result.out == std::string(300'000, 'z') + "/\n");
  CHECK(result.err == "1-unset\n");
  CHECK(run({"cat"}).out.empty());
  CHECK(run({"true"}, {.stdin_text = std::string(300'000, 'z')}).status == 0);
  CHECK_THROWS_WITH_AS(run({"no-such-program"}), "not installed: no-such-program",
                       std::runtime_error);
  CHECK_THROWS_AS(run({"/no/such/program"}), std::system_error);
  CHECK(run({"sh", "-c", "kill -TERM $$; echo on"}, {.ignore_signals = {SIGTERM}}).out == "on\n");
  CHECK(rlock_argv("exec", std::string("job")).size() == 3);

  Process echo({"cat"}, {.hold_stdin = true});
  echo.write_stdin("first\n");
  echo.wait_for_stdout("first\n");
  CHECK(echo.running());
  echo.close_stdin();
  CHECK(echo.wait().out == "first\n");
}

TEST_CASE("support: a bound kills the process with its group") {
  pid_t child = 0;
  {
    Process process({"sh", "-c", "sleep 1000 & echo $!; wait"});
    process.wait_for_stdout("\n");
    child = std::stoi(process.out());
    CHECK(alive(child));
    CHECK_THROWS_WITH_AS(process.wait(20ms), doctest::Contains("did not end in time"),
                         std::runtime_error);
    CHECK_FALSE(alive(child));
    CHECK_THROWS_AS(process.wait_for_stdout("never"), std::runtime_error);
  }
  {
    Process process({"sh", "-c", "sleep 1000 & echo $!"});
    CHECK(process.wait_exit().status == 0);
    child = std::stoi(process.out());
    CHECK_THROWS_WITH_AS(process.wait(20ms), doctest::Contains("keeps its stdout"),
                         std::runtime_error);
  }
  CHECK_FALSE(alive(child));
}

TEST_CASE("support: a shell on a terminal has job control") {
  pid_t shell = 0;
  {
    Pty pty({"bash", "--norc", "-i"},
            {.env = {{"PS1", "ready> "}, {"TERM", "dumb"}}, .columns = 100});
    shell = pty.pid();
    pty.expect("ready> ");
    pty.type("stty size\r");
    pty.expect("24 100");
    // Before the exec of the job the shell's child ignores Ctrl-Z: wait for the program itself.
    const std::string length = "1000." + std::to_string(::getpid());
    pty.type("sleep " + length + "\r");
    REQUIRE(wait_until([&] { return processes_with(length).size() == 1; }));
    const pid_t job = processes_with(length).front();
    CHECK(pty.foreground() == job);
    pty.type("\x1a");
    pty.expect("Stopped");
    CHECK(stopped(job));
    pty.type("fg\r");
    CHECK(wait_until([&] { return pty.foreground() == job && !stopped(job); }));
    pty.type("\x03");
    pty.expect("ready> ");
    pty.resize(120, 40);
    pty.type("stty size\r");
    pty.expect("40 120");
    pty.type("sleep 1001 &\r");
    pty.expect("ready> ");
    CHECK_THROWS_AS(pty.expect("never", 20ms), std::runtime_error);
    CHECK(wait_until([&] { return processes_in_session(shell).size() == 2; }));
  }
  CHECK(processes_in_session(shell).empty());

  Pty last({"sh", "-c", "test -t 0 && test -t 2 && printf %s the-end; exit 3"});
  const Result result = last.wait();
  CHECK(result.status == 3);
  CHECK(result.out == "the-end");
}

TEST_CASE("support: wait_until gives up, and markers must be unique") {
  CHECK_FALSE(wait_until([] { return false; }, 10ms));
  CHECK(wait_until([] { return true; }, 0ms));
  CHECK_THROWS_AS(kill_processes_with(""), std::invalid_argument);
  CHECK_FALSE(processes_with("PATH=").empty());
}
