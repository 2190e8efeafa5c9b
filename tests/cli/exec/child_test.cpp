// C2, C3 and the command's environment: it must not notice that rlock is there.
// Labels: quick
#include <algorithm>
#include <csignal>
#include <regex>
#include <sstream>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "cli/lease/guardians.hpp"
#include "support/contents.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"

using namespace rlock::test;
using Strings = std::vector<std::string>;

namespace {

Strings exec(const Server& server, const Strings& command, const Strings& options = {}) {
  Strings argv = rlock_argv("exec", "-r", server.unix_url());
  argv.insert(argv.end(), options.begin(), options.end());
  argv.insert(argv.end(), {"job", "--"});
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

Strings sorted_lines(const std::string& text) {
  std::istringstream stream(text);
  Strings lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

Strings without(Strings lines, const std::string& prefix) {
  std::erase_if(lines, [&](const std::string& line) { return line.starts_with(prefix); });
  return lines;
}

std::string value_of(const std::string& environment, const std::string& name) {
  for (const std::string& line : sorted_lines(environment)) {
    if (line.starts_with(name + "=")) return line.substr(name.size() + 1);
  }
  return "(unset)";
}

}  // namespace

TEST_CASE("C2: what systemd sets for rlock's process is for the command's" *
          doctest::test_suite("C2")) {
  const Server server;
  const std::string show =
      "env | grep -E '^(LISTEN_|WATCHDOG_|SYSTEMD_)' | sed \"s/=$$\\$/=own/\" | sort";
  const auto variables = [&](const std::string& set) {
    return run({"sh", "-c", set + " exec \"$@\"", "sh", rlock_program(), "exec", "-r",
                server.unix_url(), "job", "--", "sh", "-c", show})
        .out;
  };
  CHECK(variables("LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_PIDFDID=7 WATCHDOG_PID=$$ WATCHDOG_USEC=9 "
                  "SYSTEMD_EXEC_PID=$$") ==
        "LISTEN_FDS=1\nLISTEN_PID=own\nSYSTEMD_EXEC_PID=own\nWATCHDOG_PID=own\nWATCHDOG_USEC=9\n");
  CHECK(variables("LISTEN_PID=1 LISTEN_FDS=1 LISTEN_PIDFDID=7") ==
        "LISTEN_FDS=1\nLISTEN_PID=1\nLISTEN_PIDFDID=7\n");
}

TEST_CASE("C2: stdin, stdout and stderr are the command's own" * doctest::test_suite("C2")) {
  Server server;
  const std::string text = std::string(200'000, 'x') + "\n";
  const Result result =
      run(exec(server, {"sh", "-c", "cat; echo to stderr >&2"}), {.stdin_text = text});
  CHECK(result.status == 0);
  CHECK(result.out == text);
  CHECK(result.err == "to stderr\n");
}

TEST_CASE("C2: signal mask and dispositions are as the caller's" * doctest::test_suite("C2")) {
  Server server;
  const Strings look{"grep", "Sig[PBIC]", "/proc/self/status"};
  const auto same = [&](const Strings& before, const ProcessOptions& options) {
    Strings bare = before;
    bare.insert(bare.end(), look.begin(), look.end());
    Strings under = before;
    const Strings argv = exec(server, look);
    under.insert(under.end(), argv.begin(), argv.end());
    const Result expected = run(bare, options);
    const Result result = run(under, options);
    CHECK(expected.status == 0);
    CHECK(result.status == 0);
    CHECK(result.out == expected.out);
  };
  same({"env"}, {});
  same({"env"}, {.ignore_signals = {SIGHUP}});  // nohup
  same({"env"}, {.ignore_signals = {SIGINT, SIGQUIT, SIGPIPE, SIGTERM}});
  same({"env"}, {.ignore_signals = {SIGCHLD}});
  same({"env"}, {.ignore_signals = {SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT}});
  same({"env"}, {.ignore_signals = {SIGWINCH, SIGRTMIN + 2}});
  same({"env", "--block-signal=USR1,TERM,CHLD,TSTP,WINCH"}, {});
}

TEST_CASE("C2: no descriptor leaks into the command, and none is missing" *
          doctest::test_suite("C2")) {
  Server server;
  const std::string list = "for fd in /proc/self/fd/*; do echo ${fd##*/}; done";
  for (const std::string before : {"", "exec 7</dev/null 9>/dev/null; ", "exec <&-; "}) {
    const std::string program =
        "'" + rlock_program() + "' exec -r " + server.unix_url() + " job -- ";
    const Result expected = run({"sh", "-c", before + "exec sh -c '" + list + "'"});
    const Result result = run({"sh", "-c", before + "exec " + program + "sh -c '" + list + "'"});
    CHECK(result.status == 0);
    CHECK(result.out == expected.out);
  }
}

TEST_CASE("C2: closed standard descriptors stay closed, and no message goes where they were" *
          doctest::test_suite("C2")) {
  Server server;
  const std::string list = server.directory() + "/list";
  const std::string look = "'for fd in /proc/self/fd/*; do echo ${fd##*/}; done >" + list + "'";
  for (const std::string closed : {"<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"}) {
    CAPTURE(closed);
    CHECK(run({"sh", "-c", "exec sh -c " + look + " " + closed}).status == 0);
    const std::string expected = contents(list);
    server.command({"HSET", "job", "another:1", "1"});
    Process rlock({"sh", "-c",
                   "exec '" + rlock_program() + "' exec -v -r " + server.unix_url() +
                       " job -- sh -c " + look + " " + closed});
    REQUIRE(comes_to_wait(server));  // and has said so
    server.command({"DEL", "job"});
    server.command({"PUBLISH", "redisson_lock__channel:{job}", "0"});
    CHECK(rlock.wait().status == 0);
    CHECK(contents(list) == expected);
    CHECK(comes_to_be_empty(server));
  }
}

TEST_CASE("C2: directory, umask, limits and priority are as the caller's" *
          doctest::test_suite("C2")) {
  Server server;
  const std::string look =
      "pwd; umask; ulimit -a; nice; cat /proc/self/oom_score_adj "
      "/proc/self/timerslack_ns; grep -e NoNewPrivs -e Seccomp: /proc/self/status";
  const std::string before = "umask 027; ulimit -n 200; ulimit -c 0; exec nice -n 3 ";
  const std::string program = rlock_program() + " exec -r " + server.unix_url() + " job -- ";
  const ProcessOptions options{.cwd = server.directory()};
  const Result expected = run({"sh", "-c", before + "sh -c '" + look + "'"}, options);
  const Result result = run({"sh", "-c", before + program + "sh -c '" + look + "'"}, options);
  CHECK(expected.out.find(server.directory()) == 0);
  CHECK(result.out == expected.out);
}

TEST_CASE("C2: the environment passes through unchanged, but for RLOCK_*" *
          doctest::test_suite("C2")) {
  Server server;
  const ProcessOptions options{.env = {{"EMPTY", ""},
                                       {"ODD", "a=b c\t\xff"},
                                       {"RLOCK_TOKEN_LIKE", "kept"},
                                       {"RLOCK_REDIS", server.unix_url()},
                                       {"RLOCK_OWNER", "stale"}}};
  const Result bare = run({"env"}, options);
  const Result result = run(rlock_argv("exec", "job", "--", "env"), options);
  REQUIRE(result.status == 0);
  Strings expected = without(sorted_lines(bare.out), "RLOCK_OWNER=");
  Strings seen = sorted_lines(result.out);
  for (const char* name : {"RLOCK_NAME=", "RLOCK_OWNER=", "RLOCK_KIND=", "RLOCK_HELD="}) {
    const std::size_t before = seen.size();
    seen = without(seen, name);
    CHECK(seen.size() == before - 1);  // each once
  }
  CHECK(seen == expected);
  CHECK(value_of(result.out, "RLOCK_NAME") == "job");
  CHECK(value_of(result.out, "RLOCK_KIND") == "reentrant");
  CHECK(value_of(result.out, "RLOCK_TOKEN") == "(unset)");
  CHECK(std::regex_match(value_of(result.out, "RLOCK_OWNER"),
                         std::regex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-"
                                    "[0-9a-f]{12}:[0-9]+")));
}

TEST_CASE("C2: RLOCK_OWNER is the owner that Redis knows, and another one in each run" *
          doctest::test_suite("C2")) {
  Server server;
  std::string last;
  for (int i = 0; i < 2; ++i) {
    Process rlock(exec(server, {"sh", "-c", "echo \"$RLOCK_OWNER\"; exec cat"}),
                  {.hold_stdin = true});
    rlock.wait_for_stdout("\n");
    const std::string owner = rlock.out().substr(0, rlock.out().find('\n'));
    CHECK(server.command({"HGETALL", "job"}) == owner + "\n1");
    CHECK(owner != last);
    last = owner;
    rlock.close_stdin();
    CHECK(rlock.wait().status == 0);
  }
}

TEST_CASE("C3: a background process that the command left does not keep the lock" *
          doctest::test_suite("C3")) {
  Server server;
  std::string script = "sleep 1000 >/dev/null 2>&1 & echo $!";
  SUBCASE("in the command's group") {}
  SUBCASE("in a session of its own") { script = "setsid sleep 1000 >/dev/null 2>&1 & echo $!"; }
  SUBCASE("with the command's stdout open") { script = "sleep 1000 & echo $!"; }

  Process rlock(exec(server, {"sh", "-c", script}));
  const Result result = rlock.wait_exit();
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  const pid_t left = std::stoi(result.out);
  CHECK(alive(left));
  CHECK(comes_to_be_empty(server));
  CHECK(run(exec(server, {"true"}, {"-n"})).status == 0);
  CHECK(alive(left));
}

TEST_CASE("C3: no zombies: neither the command nor orphans that it left while it runs" *
          doctest::test_suite("C3")) {
  Server server;
  const std::string pids = server.directory() + "/pids";
  Process rlock(exec(server, {"sh", "-c",
                              "for i in 1 2 3 4 5; do (sh -c 'echo $$ >>" + pids +
                                  "; exec sleep 0.01' &); done; echo $$; exec cat"}),
                {.hold_stdin = true});
  rlock.wait_for_stdout("\n");
  Strings orphans;
  REQUIRE(wait_until([&] {
    const std::string text = contents(pids);
    orphans = sorted_lines(text);
    return orphans.size() == 5 && text.ends_with("\n");
  }));
  for (const std::string& pid : orphans) {
    CHECK(wait_until([&] { return !process_stat(std::stoi(pid)); }));  // not even as a zombie
  }
  const pid_t command = std::stoi(rlock.out());
  rlock.close_stdin();
  CHECK(rlock.wait().status == 0);
  CHECK_FALSE(process_stat(command));
}

TEST_CASE("C3: no zombies of a command that rlock has ended, nor of what it started" *
          doctest::test_suite("C3")) {
  Server server;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // they would become ours
  Strings words{"sh", "-c", "sleep 71 & sleep 72 & wait"};
  const Result result =
      run(rlock_argv("exec", "-r", server.unix_url(), "--at-most", "200ms", "job", "--", words));
  siginfo_t info{};
  static_cast<void>(::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT));
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  CHECK(result.status == 124);
  CHECK(info.si_pid == 0);
}

TEST_CASE("C3: rlock leaves its guardian to nobody else to reap" * doctest::test_suite("C3")) {
  Server server;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const std::string list = "/proc/self/task/" + std::to_string(::gettid()) + "/children";
  const std::string before = contents(list);
  CHECK_FALSE(before.empty());  // of the server
  for (int i = 0; i < 40; ++i) {
    CHECK(run(exec(server, {"true"})).status == 0);
    CHECK(contents(list) == before);
  }
  // Ctrl-C while rlock waits for an answer to its first request.
  server.pause();
  for (int i = 0; i < 10; ++i) {
    Pty rlock(exec(server, {"true"}));
    REQUIRE(wait_until([&] { return guardian_of(rlock.pid()) > 0; }));
    rlock.type("\x03");
    CHECK(rlock.wait().status == 128 + SIGINT);
    CHECK(contents(list) == before);
  }
  server.resume();
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_CASE("rlock starts no thread for a command that ends soon") {
  Server server;
  const Strings count{
      "sh", "-c",
      "trap '' USR1; kill -USR1 $PPID; sleep 0.2; ls /proc/$PPID/task | wc -l"};  // rlock wakes
  CHECK(run(exec(server, count)).out == "1\n");
}

TEST_CASE("C3: nothing of rlock is left when it has ended" * doctest::test_suite("C3")) {
  Server server;
  const std::string mark = "left-" + server.directory();
  CHECK(run(exec(server, {"true"}), {.env = {{"MARK", mark}}}).status == 0);
  CHECK(processes_with(mark).empty());
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("C2: the command's arguments are its own, whatever they look like" *
          doctest::test_suite("C2")) {
  Server server;
  const Strings command{"printf", "%s|",   "-n",   "--wait", "--", "a b", "",
                        "*",      "$HOME", "exec", "--help", "-E", "\xff"};
  const Result result = run(exec(server, command));
  CHECK(result.status == 0);
  CHECK(result.out == "-n|--wait|--|a b||*|$HOME|exec|--help|-E|\xff|");
  CHECK(result.err.empty());
}
