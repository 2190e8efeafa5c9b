// Nested runs share a permit: it is given back when the last of them ends.
// Labels: long
#include <csignal>
#include <string>

#include <doctest/doctest.h>

#include "cli/acquire_fixture.hpp"
#include "cli/kinds/semaphore_fixture.hpp"

using namespace rlock::test;
using namespace rlock::test::permits;

namespace {

// Starts a nested run in the background that says so, and goes on until go("end").
const std::string k_inner =
    "\"$RLOCK\" exec --lease 12s --permits 1 job -- sh -c '. $DIR/lib.sh; echo in; await end' &\n";

// The same within a run that goes on until go("leave").
std::vector<std::string> outer_run(const Shells& shells) {
  return rlock_argv("exec", "--lease", "12s", "--permits", "1", "job", "--", "sh", "-c",
                    ". " + shells.directory + "/lib.sh\n" + k_inner + "await leave");
}

std::string ends(const Server& server) {
  return server.command({"ZRANGE", k_permits, "0", "-1", "WITHSCORES"});
}

}  // namespace

TEST_CASE("semaphore: a nested run that outlives the outer one keeps the permit until it ends") {
  const Server server;
  const Shells shells(server);
  bool is_of_service = false;
  SUBCASE("one of rlock's") {}
  SUBCASE("a service's") { is_of_service = true; }
  if (is_of_service) server.command({"SET", "job", "1"});
  Process outer(outer_run(shells), shells.options());
  outer.wait_for_stdout("in");
  shells.go("leave");
  CHECK(outer.wait_exit().status == 0);
  CHECK(try_at_once(server, "1") == 75);
  CHECK(available(server) == "0");
  // It renews what is its own now.
  const std::string before = ends(server);
  REQUIRE(wait_until([&] { return ends(server) != before; }));
  CHECK(try_at_once(server, "1") == 75);
  Process next(argv_for(server, held("1")), {.hold_stdin = true});
  REQUIRE(is_awaited(server));
  CHECK(out(server) == "1");
  shells.go("end");
  next.wait_for_stdout("ready");
  check_done(next);
  CHECK(try_at_once(server, "1") == 0);  // to which nobody listens, for sure
  CHECK(wait_until([&] { return server.keys() == (is_of_service ? Words{"job"} : Words{}); }));
  if (is_of_service) CHECK(available(server) == "1");
}

TEST_CASE("semaphore: a run that outlives the hold of acquire around it keeps the permit") {
  const Server server;
  const Shells shells(server);
  std::string end;
  std::string said = "in\n";
  SUBCASE("that was given back") {
    end = "; rlock unlock job; echo $?; rlock unlock -q job; echo again $?; wait";
    said = "in\n0\nagain 1\n";
  }
  SUBCASE("whose shell has ended") {}
  Process shell(shells.argv("eval \"$(rlock acquire --export --permits 1 job)\" || exit\n" +
                            k_inner + "await leave" + end),
                shells.options());
  shell.wait_for_stdout("in");
  shells.go("leave");
  shell.wait_for_stdout(said);
  CHECK(shells.watchdogs_end());
  CHECK(try_at_once(server, "1") == 75);
  shells.go("end");
  CHECK(shell.wait().out == said);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE(
    "semaphore: of runs that share a permit, one that is killed keeps it for a lease at most") {
  const Server server;
  const Shells shells(server);
  Process outer(outer_run(shells), shells.options());
  outer.wait_for_stdout("in");
  for (const pid_t pid : shells.processes_named("rlock")) {
    if (pid != outer.pid()) ::kill(pid, SIGKILL);
  }
  shells.go("leave");
  CHECK(outer.wait_exit().status == 0);
  const Result next = invoke(server, {"exec", "--permits", "1", "job", "--", "echo", "ran"});
  CHECK(next.out == "ran\n");
  // As long as its connection for messages was not closed, somebody seemed to listen.
  CHECK(try_at_once(server, "1") == 0);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("semaphore: a nested run that ends leaves the permit to the outer one") {
  const Server server;
  const Shells shells(server);
  const std::string run = "\"$RLOCK\" exec --permits 1 job -- ";
  Process outer(shells.argv("rlock exec --permits 1 job -- sh -c '. $DIR/lib.sh\n" + run + run +
                            "true; " + run + "true; echo ended; await leave'"),
                shells.options());
  outer.wait_for_stdout("ended");
  CHECK(try_at_once(server, "1") == 75);
  CHECK(out(server) == "1");
  shells.go("leave");
  CHECK(outer.wait().status == 0);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("semaphore: --at-least of nested runs: that which asks for the latest time decides") {
  const Server server;
  const Shells shells(server);
  std::string outer_time;
  std::string inner_time = " --at-least 50ms";
  std::string rest;
  SUBCASE("the inner one") { inner_time = " --at-least 1h"; }
  SUBCASE("the outer one") { outer_time = " --at-least 1h"; }
  SUBCASE("a hold of acquire ends last") {
    inner_time = " --at-least 1h";
    rest = " && eval \"$(\"$RLOCK\" acquire --export --permits 1 job)\"";
  }
  SUBCASE("none: the time has passed") { rest = " && sleep 0.06"; }
  const bool is_kept = !rest.ends_with("0.06");
  const Result result = run(shells.argv("rlock exec --permits 1" + outer_time +
                                        " job -- sh -c '\"$RLOCK\" exec --permits 1" + inner_time +
                                        " job -- true" + rest + "'"),
                            shells.options());
  CHECK(result.status == 0);
  CHECK(result.err == "");
  CHECK(shells.watchdogs_end());
  CHECK(try_at_once(server, "1") == (is_kept ? 75 : 0));
  if (!is_kept) return;
  CHECK(pttl(server, k_permits) > 3'500'000);
  CHECK(pttl(server, k_permits) <= 3'605'000);
}
