// rlock acquire: how its wait, its watchdog and its hold end.
#include <csignal>

#include <doctest/doctest.h>

#include "cli/acquire_fixture.hpp"
#include "support/fair_lock.hpp"
#include "support/foreign_owner.hpp"
#include "support/proxy.hpp"
#include "support/waiters.hpp"

using namespace rlock::test;

namespace {

// A script below a run of exec that holds "outer", and soon notices that it has lost it.
std::vector<std::string> below_exec(const Shells& shells, const std::string& script) {
  return rlock_argv("exec", "--lease", "6s", "outer", "--", shells.argv(script));
}

}  // namespace

TEST_CASE("acquire: nobody waits on for a process that has ended") {
  const Server server;
  const Shells shells(server);
  server.command({"HSET", "job", k_foreign_owner, "1"});  // it never ends
  for (const std::string kind : {"reentrant", "fair"}) {
    for (const int signal : {SIGKILL, SIGTERM}) {
      CAPTURE(kind);
      CAPTURE(signal);
      Process script(shells.argv("owner=$(rlock acquire --kind " + kind + " job)"),
                     shells.options());
      REQUIRE((kind == "fair" ? comes_to_queue(server, 1) : comes_to_wait(server)));
      script.signal(signal);
      const std::string pid = std::to_string(script.pid());
      CHECK(script.wait().err.ends_with("rlock: process " + pid + ": it has ended\n"));
      CHECK(shells.watchdogs_end());
      CHECK(server.command({"EXISTS", "redisson_lock_queue:{job}"}) == "0");
    }
  }
  Process other(std::vector<std::string>{"sleep", "1000"});
  const std::string pid = std::to_string(other.pid());
  Process waiter(shells.argv("rlock acquire -q --pid " + pid + " job"), shells.options());
  REQUIRE(comes_to_wait(server));
  other.signal(SIGKILL);
  const Result ended = waiter.wait();
  CHECK(ended.status == 64);
  CHECK(ended.out.empty());
  CHECK(ended.err == "rlock: process " + pid + ": it has ended\n");
}

TEST_CASE(
    "acquire: the watchdog of an inner hold that was given back ends soon, whatever the lease") {
  const Server server;
  const Shells shells(server);
  Process script(shells.argv("eval \"$(" + k_take +
                             "--export job)\" || exit\n"
                             "eval \"$(" +
                             k_take +
                             "--export job)\" || exit\n"
                             "rlock unlock job; echo $?; await never"),
                 shells.options());
  script.wait_for_stdout("0\n");
  CHECK(wait_until([&] { return shells.watchdogs().size() == 1; }));
  CHECK(server.command({"HVALS", "job"}) == "1");
}

TEST_CASE("acquire: a server that is away when the process ends has the lock released later") {
  const Server server;
  const Shells shells(server);
  Proxy proxy(server.unix_path());
  const auto hold = [&](const std::string& lease) {
    return shells.argv("owner=$(rlock acquire -r " + proxy.url() + " --timeout 3s --lease " +
                       lease + " job) || exit; echo held; await never");
  };
  SUBCASE("it comes back") {
    Process script(hold("1h"), shells.options());
    script.wait_for_stdout("held");
    proxy.set_mode(Mode::refuse);
    const std::size_t before = proxy.connections();
    script.signal(SIGKILL);
    // The first attempt may make some of them.
    REQUIRE(wait_until([&] { return proxy.connections() >= before + 20; }));
    CHECK(server.command({"EXISTS", "job"}) == "1");
    proxy.set_mode(Mode::pass);
    CHECK(comes_free(server));
  }
  SUBCASE("it does not: the lease ends the watchdog, too") {
    Process script(hold("4s"), shells.options());
    script.wait_for_stdout("held");
    proxy.set_mode(Mode::blackhole);
    script.signal(SIGKILL);
  }
  CHECK(shells.watchdogs_end());
}

TEST_CASE(
    "acquire: a run of exec that ends its command leaves the watchdogs below it to end alone") {
  const Server server;
  const Shells shells(server);
  Process other(std::vector<std::string>{"sleep", "1000"});
  const auto run_with = [&](const std::string& pid) {
    return below_exec(shells, "rlock acquire --lease 1h --pid " + pid +
                                  " job >/dev/null && echo held; sleep 1000");
  };
  const auto is_over = [&] { return shells.processes_named("lock-guardian").empty(); };
  SUBCASE("of a process outside: by the supervisor") {
    Process exec(run_with(std::to_string(other.pid())), shells.options());
    exec.wait_for_stdout("held");
    server.command({"DEL", "outer"});
    static_cast<void>(exec.wait());
  }
  SUBCASE("of a process outside: by the guardian") {
    Process exec(run_with(std::to_string(other.pid())), shells.options());
    exec.wait_for_stdout("held");
    exec.signal(SIGKILL);
    static_cast<void>(exec.wait());
  }
  SUBCASE("of a process of the command") {
    Process exec(run_with("$$"), shells.options());
    exec.wait_for_stdout("held");
    server.command({"DEL", "outer"});
    static_cast<void>(exec.wait());
    CHECK(comes_free(server));
    CHECK(shells.watchdogs_end());
    return;
  }
  REQUIRE(wait_until(is_over));
  CHECK(shells.watchdogs().size() == 1);
  CHECK(server.command({"EXISTS", "job"}) == "1");
  other.signal(SIGKILL);
  CHECK(comes_free(server));
  CHECK(shells.watchdogs_end());
}

TEST_CASE("exec ends a program that only has the name of a watchdog") {
  const Server server;
  const Shells shells(server);
  std::ofstream(shells.directory + "/lock-watchdog") << "#!/bin/sh\necho held\nsleep 1000\n:\n";
  Process exec(below_exec(shells,
                          "chmod +x \"$DIR/lock-watchdog\"\n"
                          "setsid \"$DIR/lock-watchdog\" & sleep 1000"),
               shells.options());
  exec.wait_for_stdout("held");
  // The script's child has its name until it is sleep.
  CHECK(wait_until([&] { return shells.watchdogs().size() == 1; }));
  server.command({"DEL", "outer"});
  static_cast<void>(exec.wait());
  CHECK(shells.watchdogs().empty());
}
