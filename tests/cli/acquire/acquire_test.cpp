// rlock acquire: the lock ends with the process that called it, by a watchdog in the background.
// Labels: quick
#include <csignal>
#include <filesystem>
#include <set>
#include <unistd.h>

#include <doctest/doctest.h>

#include "cli/acquire_fixture.hpp"
#include "cli/beats.hpp"
#include "support/foreign_owner.hpp"
#include "support/processes.hpp"
#include "support/words.hpp"

using namespace rlock::test;

TEST_CASE("acquire: a substitution ends at once, and the lock lives as long as the shell") {
  const Server server;
  const Shells shells(server);
  for (const char* shell : {"bash", "dash", "zsh"}) {
    for (const char* form :
         {"rlock acquire --lease 1h job", "rlock acquire --lease 1h job || exit 1",
          "cd /; rlock acquire --lease 1h job", "rlock acquire --lease 1h job | cat"}) {
      CAPTURE(shell);
      CAPTURE(form);
      Process script(shells.argv("owner=$(" + std::string(form) +
                                     ") || exit; echo \"$owner\" $$\n"
                                     "read line",
                                 shell),
                     {.env = shells.options().env, .hold_stdin = true});
      script.wait_for_stdout("\n");
      const std::string owner = server.command({"HKEYS", "job"});
      CHECK(script.out() == owner + " " + std::to_string(script.pid()) + "\n");
      CHECK(has(server.command({"HVALS", "rlock_info:{job}"}),
                "\"pid\":" + std::to_string(script.pid()) + ","));
      CHECK(shells.watchdogs().size() == 1);
      script.close_stdin();
      CHECK(comes_free(server));
      CHECK(shells.watchdogs_end());
    }
  }
}

TEST_CASE("acquire: the lock is released however the shell ends") {
  const Server server;
  const Shells shells(server);
  Process script(shells.argv("owner=$(" + k_take + "job) || exit; echo held; await never"),
                 shells.options());
  script.wait_for_stdout("held");
  SUBCASE("SIGKILL") { script.signal(SIGKILL); }
  SUBCASE("SIGTERM") { script.signal(SIGTERM); }
  SUBCASE("SIGHUP to its job, as when the terminal goes") { script.signal_group(SIGHUP); }
  CHECK(comes_free(server));
  CHECK(shells.watchdogs_end());
  CHECK(server.keys().empty());
}

TEST_CASE("acquire: the watchdog renews the lease") {
  const Server server;
  const Shells shells(server);
  Process script(shells.argv("owner=$(rlock acquire --lease 5s job) || exit; echo held; await go"),
                 shells.options());
  script.wait_for_stdout("held");
  const std::string owner = server.command({"HKEYS", "job"});
  SUBCASE("again and again") {
    for (int i = 0; i < 4; ++i) wait_for_renewal(server);
  }
  SUBCASE("also after SIGTERM: only the end of its shell, or of the hold, ends it") {
    for (const pid_t pid : shells.watchdogs()) {
      for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::kill(pid, signal);
    }
    for (int i = 0; i < 4; ++i) wait_for_renewal(server);
  }
  CHECK(server.command({"HKEYS", "job"}) == owner);
  shells.go("go");
  CHECK(script.wait().status == 0);
  CHECK(comes_free(server));
  CHECK(shells.watchdogs_end());
}

TEST_CASE("acquire: the watchdog has nothing of its caller's") {
  const Server server;
  const Shells shells(server);
  Process script(shells.argv("exec 5</dev/zero 6>&1\n"
                             "owner=$(rlock acquire --lease 1h -r \"$RLOCK_REDIS\" job 7>&2)\n"
                             "echo held; await go"),
                 shells.options());
  script.wait_for_stdout("held");
  REQUIRE(shells.watchdogs().size() == 1);
  const pid_t watchdog = shells.watchdogs().front();
  const std::string proc = "/proc/" + std::to_string(watchdog) + "/";
  std::string foreign;
  const bool is_free = wait_until([&] {  // it may still read what it was handed over, from a pipe
    foreign.clear();
    for (const auto& file : std::filesystem::directory_iterator(proc + "fd")) {
      std::error_code gone;
      const std::string target = std::filesystem::read_symlink(file.path(), gone).string();
      const bool is_own = target == "/dev/null" || target.starts_with("anon_inode:") ||
                          target.starts_with("socket:") || gone;
      if (!is_own) foreign += file.path().string() + " is " + target + "\n";
    }
    return foreign.empty();
  });
  CHECK_MESSAGE(is_free, foreign);
  CHECK(std::filesystem::read_symlink(proc + "cwd") == "/");
  const auto stat = process_stat(watchdog);
  REQUIRE(stat);
  CHECK(stat->parent != script.pid());
  CHECK(stat->session != process_stat(script.pid())->session);
  CHECK(stat->session != watchdog);  // so that it can never get a terminal
  std::string arguments;
  std::getline(std::ifstream(proc + "cmdline"), arguments);
  CHECK_FALSE(has(arguments, server.unix_url()));
  CHECK((is_sanitized() || resident_kib(watchdog) < 8 * 1024));
  shells.go("go");
  CHECK(script.wait().status == 0);  // nobody holds its stdout or stderr
  CHECK(comes_free(server));
}

TEST_CASE("acquire: the watchdog ends when the lock is released or lost, and touches no other's") {
  const Server server;
  const Shells shells(server);
  Process script(shells.argv("owner=$(rlock acquire --lease 1h job) || exit; echo held\n"
                             "await unlock && rlock unlock --owner \"$owner\" job; echo $?\n"
                             "await never"),
                 shells.options());
  script.wait_for_stdout("held");
  std::string holder = "(nil)";
  SUBCASE("released") {
    shells.go("unlock");
    script.wait_for_stdout("\n0\n");
  }
  SUBCASE("broken") {
    CHECK(run(rlock_argv("unlock", "-q", "--force", "-y", "-r", server.unix_url(), "job")).status ==
          0);
  }
  SUBCASE("broken, and taken by another") {
    server.command({"DEL", "job"});
    server.command({"HSET", "job", k_thief, "1"});
    server.command({"PUBLISH", "redisson_lock__channel:{job}", "0"});
    holder = "1";
  }
  CHECK(shells.watchdogs_end());
  script.signal(SIGKILL);
  static_cast<void>(script.wait_exit());
  CHECK(server.command({"HGET", "job", k_thief}) == holder);
}

TEST_CASE(
    "acquire: a watchdog that was stopped for longer than the lease touches no other's lock") {
  const Server server;
  const Shells shells(server);
  Process script(shells.argv("owner=$(rlock acquire --lease 5s job); echo held; await never"),
                 shells.options());
  script.wait_for_stdout("held");
  REQUIRE(shells.watchdogs().size() == 1);
  const pid_t watchdog = shells.watchdogs().front();
  ::kill(watchdog, SIGSTOP);
  REQUIRE(comes_free(server));
  server.command({"HSET", "job", k_thief, "1"});
  script.signal(SIGKILL);
  ::kill(watchdog, SIGCONT);
  CHECK(shells.watchdogs_end());
  CHECK(server.command({"HGETALL", "job"}) == k_thief + "\n1");
  CHECK(server.command({"PTTL", "job"}) == "-1");
}

TEST_CASE("acquire: a server that restarts and has kept the lock has it renewed") {
  Server server(ServerOptions{.args = {"--appendonly", "yes", "--appendfsync", "always"}});
  const Shells shells(server);
  Process script(shells.argv("owner=$(rlock acquire --lease 12s job); echo held; await go"),
                 shells.options());
  script.wait_for_stdout("held");
  const std::string owner = server.command({"HKEYS", "job"});
  server.stop();
  server.start();
  wait_for_renewal(server);
  CHECK(server.command({"HKEYS", "job"}) == owner);
  shells.go("go");
  CHECK(comes_free(server));
  CHECK(shells.watchdogs_end());
}

TEST_CASE("acquire: --pid tells whose life the lock follows") {
  const Server server;
  const Shells shells(server);
  Process other(std::vector<std::string>{"sleep", "1000"});
  const std::string pid = std::to_string(other.pid());
  SUBCASE("another process than the caller") {
    CHECK(run(shells.argv(k_take + "--pid " + pid + " job"), shells.options()).status == 0);
    CHECK(has(server.command({"HVALS", "rlock_info:{job}"}), "\"command\":\"sleep\""));
    CHECK(shells.watchdogs().size() == 1);
    other.signal(SIGKILL);
    CHECK(comes_free(server));
  }
  SUBCASE("one that has ended") {
    other.signal(SIGKILL);
    static_cast<void>(other.wait());
    const Result refused = run(shells.argv(k_take + "--pid " + pid + " job"), shells.options());
    CHECK(refused.status == 64);
    CHECK(refused.err == "rlock: process " + pid + ": there is none\n");
  }
  SUBCASE("no number") {
    for (const char* text : {"x", "0", "-1", "1x", "''", "99999999999"}) {
      CAPTURE(text);
      const Result refused = run(shells.argv(k_take + "--pid=" + text + " job"), shells.options());
      CHECK(refused.status == 64);
      CHECK(std::count(refused.err.begin(), refused.err.end(), '\n') == 1);
    }
  }
  SUBCASE("rlock itself, in the place of a subshell") {
    const Result refused =
        run(shells.argv(R"(exec "$RLOCK" acquire --pid $$ job)"), shells.options());
    CHECK(refused.status == 64);
    CHECK(has(refused.err, " is rlock itself, in the place of a subshell"));
  }
  SUBCASE("one of another user") {
    if (::geteuid() != 0) return;
    const Result refused = run({"setpriv", "--reuid", "65534", "--clear-groups", rlock_program(),
                                "acquire", "-r", server.tcp_url(), "--pid", pid, "job"});
    CHECK(refused.status == 77);
    CHECK(refused.err == "rlock: process " + pid + ": it belongs to another user\n");
  }
  CHECK(shells.watchdogs_end());
  CHECK(server.keys().empty());
}

TEST_CASE("acquire: who cannot be told of the lock does not get it") {
  const Server server;
  const Shells shells(server);
  for (const char* where : {">&-", ">/dev/full"}) {
    for (const char* option : {"", "--export ", "--no-watchdog "}) {
      CAPTURE(where);
      CAPTURE(option);
      const Result refused = run(shells.argv(k_take + option + "job " + where), shells.options());
      CHECK(refused.status == 69);
      CHECK(refused.err.find("rlock: stdout: ") == 0);
      CHECK(comes_free(server));
    }
  }
  CHECK(shells.watchdogs_end());
}
