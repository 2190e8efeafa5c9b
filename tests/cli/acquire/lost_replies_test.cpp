// S6: a request of acquire, exec, renew or unlock that is sent again after a lost reply counts
// once.
// Labels: rights-plain
#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/acquire/commands_fixture.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::commands;

TEST_CASE("S6: an acquire whose reply was lost is counted once" * doctest::test_suite("S6")) {
  Server server;
  Proxy proxy(server.port());
  acquire(server.unix_url(), "warm");
  proxy.cut_after_next_request("EVALSHA");
  const std::string owner = acquire(proxy.url(), "job");
  CHECK(proxy.cuts() == 1);
  CHECK(server.list({"HGETALL", "job"}) == Words{owner, "1"});
}

TEST_CASE("S6: an exec whose replies were lost runs once and leaves nothing locked" *
          doctest::test_suite("S6")) {
  Server server;
  Proxy proxy(server.port());
  REQUIRE(invoke(server.unix_url(), {"exec", "warm", "--", "true"}).status == 0);
  for (const char* which : {"acquire", "release"}) {
    CAPTURE(which);
    if (std::string_view(which) == "acquire") proxy.cut_after_next_request("EVALSHA");
    Process job(rlock_argv("exec", "-r", proxy.url(), "job", "--", "sh", "-c",
                           "echo ready; cat > /dev/null"),
                {.hold_stdin = true});
    job.wait_for_stdout("ready");
    CHECK(server.command({"HVALS", "job"}) == "1");
    if (std::string_view(which) == "release") proxy.cut_after_next_request("EVALSHA");
    job.close_stdin();
    const Result result = job.wait();
    CAPTURE(result.err);
    CHECK(result.status == 0);
    CHECK(result.out == "ready\n");
    CHECK(result.err.empty());
    CHECK(without_latches(server).empty());
  }
  CHECK(proxy.cuts() == 2);
}

TEST_CASE("S6: a re-entry whose reply was lost is counted once" * doctest::test_suite("S6")) {
  Server server;
  Proxy proxy(server.port());
  REQUIRE(invoke(server.unix_url(), {"exec", "warm", "--", rlock_program(), "-r", server.unix_url(),
                                     "exec", "warm", "--", "true"})
              .status == 0);
  Process outer(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "sh", "-c",
                           "echo outer; read go; \"$0\" exec -r \"$1\" job -- sh -c 'echo inner; "
                           "read on'; echo back; read end; exit 0",
                           rlock_program(), proxy.url()),
                {.hold_stdin = true});
  outer.wait_for_stdout("outer");
  proxy.cut_after_next_request("EVALSHA");
  outer.write_stdin("go\n");
  outer.wait_for_stdout("inner");
  CHECK(proxy.cuts() == 1);
  CHECK(server.command({"HVALS", "job"}) == "2");
  proxy.cut_after_next_request("EVALSHA");
  outer.write_stdin("on\n");
  outer.wait_for_stdout("back");
  CHECK(proxy.cuts() == 2);
  CHECK(server.command({"HVALS", "job"}) == "1");
  outer.write_stdin("end\n");
  const Result result = outer.wait();
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  CHECK(without_latches(server).empty());
}

TEST_CASE("S6: an unlock whose reply was lost takes one hold and succeeds" *
          doctest::test_suite("S6")) {
  Server server;
  Proxy proxy(server.port());
  const std::string owner = acquire(server.unix_url(), "job");
  const std::string warm = acquire(server.unix_url(), "warm");
  REQUIRE(invoke(server.unix_url(), {"unlock", "--owner", warm, "warm"}).status == 0);
  server.command({"HSET", "job", owner, "3"});
  proxy.cut_after_next_request("EVALSHA");
  check_silent(invoke(proxy.url(), {"unlock", "--owner", owner, "job"}), 0);
  CHECK(proxy.cuts() == 1);
  CHECK(server.command({"HGET", "job", owner}) == "2");
  server.command({"HSET", "job", owner, "1"});
  proxy.cut_after_next_request("EVALSHA");
  check_silent(invoke(proxy.url(), {"unlock", "--owner", owner, "job"}), 0);
  CHECK(proxy.cuts() == 2);
  CHECK(without_latches(server).empty());
  // A latch that is not needed is removed without waiting for it: by now, say.
  for (const std::string& key : server.keys()) CHECK(server.command({"PTTL", key}) != "-1");
}

TEST_CASE("S6: a forced unlock and a renewal whose replies were lost succeed" *
          doctest::test_suite("S6")) {
  Server server;
  Proxy proxy(server.port());
  const std::string owner = acquire(server.unix_url(), "job");
  REQUIRE(invoke(server.unix_url(), {"renew", "--owner", owner, "job"}).status == 0);
  REQUIRE(invoke(server.unix_url(), {"unlock", "--force", "-y", "job"}).status == 0);
  const std::string again = acquire(server.unix_url(), "job");
  proxy.cut_after_next_request("EVALSHA");
  check_silent(invoke(proxy.url(), {"renew", "--owner", again, "job"}), 0);
  proxy.cut_after_next_request("EVALSHA");
  const Result broken = invoke(proxy.url(), {"unlock", "--force", "-y", "job"});
  CHECK(broken.status == 0);
  CHECK(is_one_message(broken.err));
  CHECK(has(broken.err, "owner " + again));
  CHECK(proxy.cuts() == 2);
  CHECK(without_latches(server).empty());
}

TEST_CASE("S6: a request that arrives after its run has given up takes no lock" *
          doctest::test_suite("S6")) {
  Server server;
  Proxy proxy(server.port());
  acquire(server.unix_url(), "warm");
  // The first connection stalls in the dark; it is told apart by being the proxy's.
  proxy.set_mode(Mode::blackhole);
  Process waiter(
      rlock_argv("exec", "-r", proxy.url(), "--timeout", "60s", "job", "--", "echo", "ran"));
  REQUIRE(wait_until([&] { return proxy.connections() >= 1; }));
  waiter.signal(SIGTERM);
  const Result result = waiter.wait();
  CHECK(result.status == 128 + SIGTERM);
  CHECK(result.out.empty());
  proxy.set_mode(Mode::pass);
  CHECK(wait_until([&] { return proxy.open_connections() == 0; }));
  CHECK(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
  proxy.cut();
  CHECK(wait_until([&] { return !has(server.command({"CLIENT", "LIST"}), "name=rlock"); }));
  CHECK(server.command({"EXISTS", "job"}) == "0");
}
