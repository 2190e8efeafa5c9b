// --wait-server: runs that start before their server does.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "cli/foreign_lock.hpp"
#include "cli/waiting/waiting_fixture.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/quorum.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::waits;

namespace {

std::ptrdiff_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

}  // namespace

TEST_CASE("--wait-server: exec and acquire try to reach a server that is away, and say so once") {
  Server server;
  server.stop();
  Words words{"-n", "--wait-server", "60s", "-r", server.unix_url()};
  std::string command = "exec";
  Words end{"job", "--", "echo", "got"};
  SUBCASE("exec -n") {}
  SUBCASE("exec -w, which does not count that time") { words[0] = "--wait=1ms"; }
  SUBCASE("several locks") { end.insert(end.begin(), {"a", "b"}); }
  SUBCASE("acquire") {
    command = "acquire";
    end = {"--no-watchdog", "job"};
  }
  SUBCASE("acquire --export") {
    command = "acquire";
    end = {"--no-watchdog", "--export", "job"};
  }
  Process run(rlock_argv(command, words, end));
  run.wait_for_stderr("(--wait-server)\n");
  server.start();
  const Result result = run.wait();
  CAPTURE(result.err);
  CHECK(result.status == 0);
  if (command == "exec") CHECK(result.out == "got\n");
  if (command == "acquire") CHECK(has(result.out, ":"));
  CHECK(is_one_message(result.err));
}

TEST_CASE("--wait-server: -q says nothing of it") {
  Server server;
  server.stop();
  Process quiet(rlock_argv("exec", "-q", "--wait-server", "60s", "-r", server.unix_url(), "job",
                           "--", "echo", "got"));
  REQUIRE(wait_until([&] { return sleeps_of(quiet.pid()) > 5; }));
  server.start();
  check_got(quiet);
}

TEST_CASE("--wait-server: gives up in the end, or when it is told to") {
  Server server;
  server.stop();
  const auto argv = [&](const std::string& time) {
    return rlock_argv("exec", "--wait-server", time, "-r", server.unix_url(), "job", "--", "true");
  };
  const Result result = run(argv("300ms"));
  CAPTURE(result.err);
  CHECK(result.status == 69);
  CHECK(lines(result.err) == 2);
  Process told(argv("1h"));
  told.wait_for_stderr("trying again");
  told.signal(SIGTERM);
  CHECK(told.wait().status == 128 + SIGTERM);
}

TEST_CASE("--wait-server: without it, one try; a configuration file can set it") {
  Server server;
  server.stop();
  const Words words{"-r", server.unix_url(), "job", "--", "echo", "got"};
  const Result once = run(rlock_argv("exec", "-w", "1h", words));
  CHECK(once.status == 69);
  CHECK(is_one_message(once.err));
  const std::string file = server.directory() + "/rlock.toml";
  std::string value;
  SUBCASE("text") { value = "'60s'"; }
  SUBCASE("number") { value = "60"; }
  std::ofstream(file) << "wait-server = " << value << "\n";
  const Result flag = run(rlock_argv("exec", "--config", file, "--wait-server", "0", words));
  CHECK(flag.status == 69);
  CHECK(is_one_message(flag.err));
  Process waits(rlock_argv("exec", "--config", file, words));
  waits.wait_for_stderr("trying again for up to 1m");
  server.start();
  CHECK(waits.wait().status == 0);
}

TEST_CASE("--wait-server: once the server has answered, -w bounds the wait") {
  Server server;
  server.stop();
  Process waiter(rlock_argv("exec", "--wait-server", "1h", "-w", "300ms", "-r", server.unix_url(),
                            "job", "--", "true"));
  waiter.wait_for_stderr("trying again");
  server.start();
  CHECK(waiter.wait().status == 0);
  hold(server, "job");
  CHECK(run(rlock_argv("exec", "--wait-server", "1h", "-w", "300ms", "-r", server.unix_url(), "job",
                       "--", "true"))
            .status == 75);
}

TEST_CASE("--wait-server: a server that loads its data, or refuses to write, is away") {
  Server server;
  server.command({"REPLICAOF", "127.0.0.1", "1"});
  Process waiter(rlock_argv("exec", "-n", "--wait-server", "60s", "-r", server.unix_url(), "job",
                            "--", "echo", "got"));
  waiter.wait_for_stderr("trying again");
  server.command({"REPLICAOF", "NO", "ONE"});
  const Result result = waiter.wait();
  CHECK(result.status == 0);
  CHECK(is_one_message(result.err));
}

TEST_CASE("--wait-server: a server that hangs is away") {
  Server server;
  server.pause();
  Process waiter(rlock_argv("exec", "-n", "--wait-server", "60s", "--timeout", "500ms", "-r",
                            server.tcp_url(), "job", "--", "echo", "got"));
  waiter.wait_for_stderr("trying again");
  SUBCASE("until it goes on") {
    server.resume();
    CHECK(waiter.wait().status == 0);
    CHECK(waiter.out() == "got\n");
    check_free(server);
  }
  SUBCASE("and a signal ends the wait") {
    const long sleeps = sleeps_of(waiter.pid());
    REQUIRE(wait_until([&] { return sleeps_of(waiter.pid()) > sleeps + 5; }));
    waiter.signal(SIGTERM);
    CHECK(waiter.wait().status == 128 + SIGTERM);
    server.resume();
  }
}

TEST_CASE(
    "--wait-server: servers of Redlock without a vote yet are away; it is told when to retry") {
  Quorum quorum(3, Memory::lost);
  const Result refused =
      run(quorum.rlock("exec", {"-n", "--restart-delay", "1h", "job", "--", "true"}));
  CAPTURE(refused.err);
  CHECK(refused.status == 69);
  CHECK(is_one_message(refused.err));
  CHECK(has(refused.err, "; try again in "));
  CHECK(refused.err.find("no vote") == refused.err.rfind("no vote"));
  const Result waited = run(quorum.rlock(
      "exec", {"-n", "--restart-delay", "8s", "--wait-server", "60s", "job", "--", "echo", "got"}));
  CAPTURE(waited.err);
  CHECK(waited.status == 0);
  CHECK(waited.out == "got\n");
  CHECK(lines(waited.err) <= 1);  // none if the servers were slow to start
}
