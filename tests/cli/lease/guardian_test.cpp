// S7: the guardian itself is killed, meets preexisting_children, or cannot end what it has to end.
// Labels: long quick
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "cli/lease/family.hpp"
#include "cli/lease/guardians.hpp"
#include "support/contents.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

pid_t kill_guardian_of(pid_t rlock) {
  const pid_t guardian = wait_for_guardian_of(rlock);
  ::kill(guardian, SIGKILL);
  REQUIRE(wait_until([&] { return !alive(guardian); }));
  return guardian;
}

}  // namespace

TEST_CASE("S7: a guardian that was killed is replaced" * doctest::test_suite("S7")) {
  Server server;
  const std::string mark = "guarded-" + server.directory();
  const bool waits = [] {
    bool during_wait = false;
    SUBCASE("while rlock waited for the lock") { during_wait = true; }
    SUBCASE("while the command ran") {}
    return during_wait;
  }();
  if (waits) server.command({"HSET", "job", "another:1", "1"});
  Process rlock(rlock_argv("exec", "-q", "-r", server.unix_url(), "--lease", "6s", "job", "--",
                           "sh", "-c", "trap '' TERM; : " + mark + "; " + until_go(server, 0)));
  if (waits) {
    kill_guardian_of(rlock.pid());
    server.command({"DEL", "job"});
    server.command({"PUBLISH", "redisson_lock__channel:{job}", "0"});
    rlock.wait_for_stdout("started");
  } else {
    rlock.wait_for_stdout("started");
    const pid_t before = kill_guardian_of(rlock.pid());
    REQUIRE(wait_until([&] {
      const pid_t now = guardian_of(rlock.pid());
      return now > 0 && now != before;
    }));
  }
  rlock.signal(SIGKILL);
  rlock.wait_exit();
  CHECK(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
  CHECK(processes_with(mark).empty());
}

TEST_CASE("S7: the guardian takes no signal, except SIGKILL and SIGSTOP" *
          doctest::test_suite("S7")) {
  Server server;
  Process rlock(
      rlock_argv("exec", "-r", server.unix_url(), "job", "--", "sh", "-c", until_go(server, 0)));
  rlock.wait_for_stdout("started");
  const std::string status =
      "/proc/" + std::to_string(wait_for_guardian_of(rlock.pid())) + "/status";
  const auto blocked = [&] {
    std::ifstream file(status);
    std::string word;
    std::uint64_t mask = 0;
    while (file >> word) {
      if (word == "SigBlk:") file >> std::hex >> mask;
    }
    return mask;
  };
  std::uint64_t all = 0;
  for (int signal = 1; signal <= SIGSYS; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) all |= std::uint64_t{1} << (signal - 1);
  }
  CHECK(wait_until([&] { return (blocked() & all) == all; }));
  say_go(server);
  CHECK(rlock.wait().status == 0);
}

TEST_CASE("the guardian keeps no pipe, terminal or directory of others open") {
  Server server;
  Process rlock(
      rlock_argv("exec", "-r", server.unix_url(), "job", "--", "sh", "-c", until_go(server, 0)),
      {.stdin_text = "", .hold_stdin = true, .cwd = server.directory()});
  rlock.wait_for_stdout("started");
  const std::filesystem::path proc("/proc");
  const std::filesystem::path its = proc / std::to_string(wait_for_guardian_of(rlock.pid()));
  const auto opened = [](const std::filesystem::path& process) {
    std::vector<std::string> found{std::filesystem::read_symlink(process / "cwd").string()};
    for (const char* fd : {"0", "1", "2"}) {
      found.push_back(std::filesystem::read_symlink(process / "fd" / fd).string());
    }
    return found;
  };
  const auto others = opened(proc / std::to_string(rlock.pid()));
  CHECK(wait_until([&] {  // it has time for that
    std::vector<std::string> kept{std::filesystem::read_symlink(its / "cwd").string()};
    for (const auto& fd : std::filesystem::directory_iterator(its / "fd")) {
      std::error_code closed;
      kept.push_back(std::filesystem::read_symlink(fd.path(), closed).string());
    }
    return std::ranges::none_of(kept, [&](const std::string& target) {
      return std::ranges::find(others, target) != others.end();
    });
  }));
  say_go(server);
  CHECK(rlock.wait().status == 0);
}

TEST_CASE("rlock does not end processes that it has not started") {
  Server server;
  const std::string out = server.directory() + "/out";
  // bash runs rlock in its own place, so that what it has started before is rlock's child.
  const std::string logger = "> >(cat >" + out + "; sleep 0.1; echo whole >>" + out + ")";
  std::string options;
  bool stops = false;
  SUBCASE("when it ends its command") { options = "--at-most 3s"; }
  SUBCASE("when its guardian ends the command") {
    options = "-q --lease 6s";
    stops = true;
  }

  Process rlock({"bash", "-c",
                 "exec " + rlock_program() + " exec -r " + server.unix_url() + " " + options +
                     " job -- sh -c 'echo started; exec sleep 1000' " + logger});
  if (stops) {
    REQUIRE(
        wait_until([&] { return std::filesystem::exists(out) && guardian_of(rlock.pid()) > 0; }));
    REQUIRE(wait_until([&] { return std::filesystem::file_size(out) > 0; }));
    rlock.signal(SIGSTOP);
    REQUIRE(wait_until([&] { return guardian_of(rlock.pid()) < 0; }));  // it has done its work
    rlock.signal(SIGCONT);
  }
  CHECK(rlock.wait_exit().status == (stops ? 79 : 124));
  CHECK(wait_until([&] {
    std::ifstream file(out);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return text == "started\nwhole\n";
  }));
}

TEST_CASE("rlock does not end processes that it has adopted, and that are older than its command") {
  const Server server;
  // The first child of rlock's process ends, and its own child becomes rlock's.
  const std::string before =
      "(sleep 1000 & echo $! >older; while [ ! -e go ]; do sleep 0.02; done) "
      ">/dev/null 2>&1 & while [ ! -s older ]; do sleep 0.02; done; sleep 0.1; ";
  Process rlock({"bash", "-c",
                 before + "exec " + rlock_program() + " exec -r " + server.unix_url() +
                     " --at-most 3s job -- sh -c 'touch go; echo started; exec sleep 1000'"},
                {.cwd = server.directory()});
  rlock.wait_for_stdout("started");
  const pid_t older = std::stoi(contents(server.directory() + "/older"));
  REQUIRE(wait_until([&] {
    const auto stat = process_stat(older);
    return stat && stat->parent == rlock.pid();
  }));
  CHECK(rlock.wait_exit().status == 124);
  CHECK(alive(older));
  ::kill(older, SIGKILL);
}

TEST_CASE("exec starts nothing where it could not find its processes again") {
  const Server server;
  const Result result =
      run({"unshare", "--mount", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh",
           rlock_program(), "exec", "-r", server.unix_url(), "job", "--", "echo", "ran"});
  if (result.status == 1 || result.status == 32) {
    MESSAGE("skipped: no mount namespace to be had: " << result.err);
    return;
  }
  CHECK(result.status == 69);
  CHECK(result.out.empty());
  CHECK(is_one_message(result.err));
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("rlock says which process it cannot end") {
  const std::string user = "nobody";
  const Server server({.args = {"--unixsocketperm", "777"}});
  const std::string setuid = server.directory() + "/become-root";
  std::error_code error;
  std::filesystem::copy_file("/usr/bin/setpriv", setuid, error);
  if (::geteuid() != 0 || error || ::chmod(setuid.c_str(), 04755) != 0 ||
      ::chmod(server.directory().c_str(), 0755) != 0) {
    MESSAGE("skipped: needs root and setpriv");
    return;
  }
  const std::string mark = "unkillable-" + server.directory();
  // The first one can be ended. It is looked at last, as its number is higher.
  const std::string script = "trap '' TERM; setsid sleep 1000 & echo $$; exec " + setuid +
                             " --reuid 0 sh -c 'echo started; exec sleep 1000'";
  Process rlock(
      {"/usr/bin/setpriv", "--reuid", user, "--clear-groups", rlock_program(), "exec", "-r",
       server.unix_url(), "--at-most", "3s", "--kill-after", "1s", "job", "--", "sh", "-c", script},
      {.env = {{"MARK", mark}}});
  rlock.wait_for_stdout("started");
  rlock.wait_for_stderr("cannot be ended");
  // It looks ever more rarely, up to twice a second. A look takes one sleep or a few.
  const auto begin = std::chrono::steady_clock::now();
  const long sleeps = sleeps_of(rlock.pid());
  CHECK(wait_until([&] { return sleeps_of(rlock.pid()) > sleeps + 30; }));
  CHECK(std::chrono::steady_clock::now() - begin > 2s);
  kill_processes_with(mark);
  const Result result = rlock.wait_exit();
  const std::string unkillable = result.out.substr(0, result.out.find('\n'));
  CAPTURE(result.err);
  CHECK(has(result.err, "process " + unkillable +
                            " cannot be ended: it belongs to another user, and goes on\n"));
}
