// W6: waiters of a server that goes away, restarts, or is out of order.
// Labels: long server
#include <string>

#include <doctest/doctest.h>

#include "cli/foreign_lock.hpp"
#include "cli/waiting/waiting_fixture.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::waits;

TEST_CASE("W6: a waiter survives a restart of the server" * doctest::test_suite("W6")) {
  SUBCASE("that forgets the lock") {
    Server server;
    hold(server, "job");
    Process waiter(exec_argv(server.unix_url(), "job"));
    Process by_tcp(exec_argv(server.tcp_url(), "job"));
    REQUIRE(comes_to_wait(server, "job", 2));
    server.stop();
    server.start();
    check_got(waiter);
    check_got(by_tcp);
    check_free(server);
  }
  SUBCASE("that keeps the lock") {
    Server server({.args = {"--appendonly", "yes", "--appendfsync", "always"}});
    hold(server, "job");
    Process waiter(exec_argv(server.unix_url(), "job"));
    REQUIRE(comes_to_wait(server, "job"));
    server.stop();
    server.start();
    REQUIRE(comes_to_wait(server, "job"));
    CHECK(waiter.running());
    server.command({"DEL", "job"});
    server.command({"PUBLISH", channel("job"), "0"});
    check_got(waiter);
    check_free(server);
  }
}

TEST_CASE("W6: with -v a waiter tells of the outage, once, and what came of it" *
          doctest::test_suite("W6")) {
  Server server;
  hold(server, "job");
  Process waiter(rlock_argv("exec", "-v", "-r", server.unix_url(), "job", "--", "echo", "got"));
  REQUIRE(comes_to_wait(server, "job"));
  server.stop();
  waiter.wait_for_stderr("still waiting");
  server.start();
  const Result result = waiter.wait();
  CHECK(result.status == 0);
  CHECK(result.err.find("still waiting") == result.err.rfind("still waiting"));
  CHECK(has(result.err, "\nrlock: job: acquired after "));
}

TEST_CASE("W6: a waiter survives the loss of scripts and connections" * doctest::test_suite("W6")) {
  Server server;
  hold(server, "job");
  Process waiter(exec_argv(server.unix_url(), "job"));
  REQUIRE(comes_to_wait(server, "job"));
  for (int round = 0; round < 3; ++round) {
    server.command({"SCRIPT", "FLUSH"});
    server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
    REQUIRE(comes_to_wait(server, "job"));
  }
  CHECK(waiter.running());
  server.command({"DEL", "job"});
  server.command({"PUBLISH", channel("job"), "0"});
  check_got(waiter);
  check_free(server);
}

TEST_CASE("W6: a waiter outlives a server that is out of order for a while" *
          doctest::test_suite("W6")) {
  Server server;
  hold(server, "job");
  Process waiter(rlock_argv("exec", "-v", "-r", server.tcp_url(), "--timeout", "3s", "job", "--",
                            "echo", "got"));
  REQUIRE(comes_to_wait(server, "job"));
  SUBCASE("stopped") {
    server.command({"PUBLISH", channel("job"), "0"});
    server.pause();
    waiter.wait_for_stderr("still waiting");
    server.resume();
    server.command({"DEL", "job"});
  }
  SUBCASE("a replica") {
    // Not deleted, for it would be taken at once by a waiter that asks just now.
    server.command({"PEXPIRE", "job", "3000"});
    server.command({"REPLICAOF", "127.0.0.1", std::to_string(free_port())});
    REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
    server.command({"PUBLISH", channel("job"), "0"});
    waiter.wait_for_stderr("READONLY");
    server.command({"REPLICAOF", "NO", "ONE"});
  }
  SUBCASE("without memory") {
    server.command({"CONFIG", "SET", "maxmemory", "1"});
    server.command({"DEL", "job"});
    server.command({"PUBLISH", channel("job"), "0"});
    waiter.wait_for_stderr("OOM");
    server.command({"CONFIG", "SET", "maxmemory", "0"});
  }
  server.command({"PUBLISH", channel("job"), "0"});
  const Result result = waiter.wait();
  CHECK(result.status == 0);
  CHECK(result.out == "got\n");
  check_free(server);
}

TEST_CASE("W6: a waiter does not wait for a server beyond its own time" *
          doctest::test_suite("W6")) {
  Server server;
  hold(server, "job");
  Process waiter(rlock_argv("exec", "-w", "8s", "--timeout", "3s", "-r", server.unix_url(), "job",
                            "--", "echo", "got"));
  REQUIRE(comes_to_wait(server, "job"));
  server.stop();
  const Result result = waiter.wait();
  CHECK(result.status == 69);
  CHECK(is_one_message(result.err));
  CHECK(result.out.empty());
}
