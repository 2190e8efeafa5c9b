// exec with several names: all of the locks or none, and one watchdog for all.
// Labels: long
#include <algorithm>
#include <chrono>
#include <csignal>
#include <deque>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/foreign_lock.hpp"
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

Words exec(const Server& server, const Words& rest) {
  return rlock_argv("exec", "-r", server.unix_url(), rest);
}

bool is_held(const Server& server, const std::string& name) {
  return server.command({"EXISTS", name}) == "1";
}

const Words k_until_told = {"--", "sh", "-c", "echo in $RLOCK_NAME; read x; true"};

Words operator+(Words one, const Words& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

// Returns how a run ends whose command ends while the server does not answer.
Result end_while_paused(Server& server, const Words& words) {
  Process rlock(exec(server, words + k_until_told), {.stdin_text = "", .hold_stdin = true});
  rlock.wait_for_stdout("in");
  server.pause();
  rlock.close_stdin();
  return rlock.wait();
}

}  // namespace

TEST_CASE("several locks: one that is not free in time rolls back those that were taken") {
  Server server;
  hold(server, "b");
  const auto is_rolled_back = [&] {
    return server.keys() == Words{"b"};  // no owner's information, no latch
  };
  SUBCASE("-n") {
    const Result result = run(exec(server, {"-n", "c", "b", "a", "--", "true"}));
    CHECK(result.status == 75);
    CHECK(result.err.starts_with("rlock: b: not acquired: held by "));
    CHECK(is_rolled_back());
  }
  SUBCASE("-w") {
    CHECK(run(exec(server, {"-w", "300ms", "c", "b", "a", "--", "true"})).status == 75);
    CHECK(is_rolled_back());
  }
  SUBCASE("a name in use by another kind of lock") {
    server.command({"SET", "c", "somebody's"});
    Process process(exec(server, {"c", "b", "a", "--", "true"}));
    CHECK(wait_until([&] { return is_held(server, "a"); }));
    release(server, "b");
    CHECK(process.wait().status == 76);
    CHECK(server.keys() == Words{"c"});
  }
  SUBCASE("SIGTERM while it waits for the second") {
    Process process(exec(server, {"c", "b", "a", "--", "true"}));
    CHECK(wait_until([&] { return is_held(server, "a"); }));
    process.signal(SIGTERM);
    CHECK(process.wait().status == 128 + SIGTERM);
    CHECK(is_rolled_back());
  }
  SUBCASE("a command that cannot be started") {
    server.command({"DEL", "b"});
    CHECK(run(exec(server, {"c", "b", "a", "--", "/nonexistent/program"})).status == 127);
    CHECK(server.keys().empty());
  }
}

TEST_CASE("several locks: the order in which they are named does not lead to a deadlock") {
  Server server;
  const std::string counter = server.directory() + "/counter";
  // Loses an addition unless it is alone.
  const std::string add = "n=$(cat " + counter + "); sleep 0.01; echo $((n + 1)) >" + counter;
  CHECK(run({"sh", "-c", "echo 0 >" + counter}).status == 0);
  std::deque<Process> all;
  for (const Words& names : {Words{"a", "b", "c"}, Words{"c", "b", "a"}, Words{"b", "a", "c"},
                             Words{"c", "a", "b"}, Words{"a", "b", "c"}, Words{"c", "b", "a"}}) {
    all.emplace_back(exec(server, names + Words{"--", "sh", "-c", add}));
  }
  for (Process& one : all) CHECK(one.wait().status == 0);
  CHECK(run({"cat", counter}).out == "6\n");
  CHECK(server.keys().empty());
}

TEST_CASE("several locks: one watchdog and one connection keep all of them") {
  Server server;
  Process process(exec(server, Words{"--lease", "5s", "a", "b", "c", "d"} + k_until_told),
                  {.hold_stdin = true});
  process.wait_for_stdout("in");
  for (const std::string name : {"a", "b", "c", "d"}) {
    std::string before = server.command({"PEXPIRETIME", name});
    for (int renewal = 0; renewal < 2; ++renewal) {
      std::string now;
      CHECK(wait_until([&] { return (now = server.command({"PEXPIRETIME", name})) > before; }));
      before = now;
    }
  }
  CHECK(threads_of(process.pid()) == 2);
  const std::string clients = server.command({"CLIENT", "LIST"});
  std::size_t connections = 0;
  const std::string mark = ":" + std::to_string(process.pid()) + " ";
  for (std::size_t at = 0; (at = clients.find(mark, at)) != std::string::npos; ++at) ++connections;
  CHECK(connections == 2);  // the watchdog's, and the one for taking and giving back
  process.close_stdin();
  CHECK(process.wait().status == 0);
  CHECK(server.keys().empty());
}

TEST_CASE("several locks: who waits for one keeps the others, renewed, for a few seconds only") {
  Server server;
  hold(server, "b");
  Process process(exec(server, Words{"--lease", "3s", "a", "b"} + k_until_told),
                  {.hold_stdin = true});
  CHECK(wait_until([&] { return is_held(server, "a"); }));
  const std::string owner = server.command({"HKEYS", "a"});
  const long long first_end = std::stoll(server.command({"PEXPIRETIME", "a"}));
  long long end = first_end;
  // The same hold for longer, and then it is let go.
  CHECK(wait_until([&] {
    const long long now = std::stoll(server.command({"PEXPIRETIME", "a"}));
    if (now > 0) end = now;
    return now < 0;
  }));
  CHECK(end > first_end + 500);
  // It waits for the one that it lacks, and takes none of the others meanwhile.
  CHECK(comes_to_wait(server, "b"));
  CHECK(run(exec(server, {"-n", "a", "--", "true"})).status == 0);
  CHECK(server.keys() == Words{"b"});
  release(server, "b");
  process.wait_for_stdout("in a b");
  // A release of the first hold that is late, as after an outage, finds another owner.
  CHECK(run(rlock_argv("unlock", "-q", "-r", server.unix_url(), "--owner", owner, "a")).status ==
        1);
  CHECK(is_held(server, "a"));
  CHECK(server.command({"HKEYS", "a"}) == server.command({"HKEYS", "b"}));
  process.close_stdin();
  CHECK(process.wait().status == 0);
  CHECK(server.keys().empty());
}

TEST_CASE("several locks: one that is lost while another is awaited is taken anew") {
  Server server;
  hold(server, "b");
  Process process(exec(server, Words{"--lease", "3s", "a", "b"} + k_until_told),
                  {.hold_stdin = true});
  CHECK(wait_until([&] { return is_held(server, "a") && threads_of(process.pid()) == 2; }));
  server.command({"DEL", "a"});
  CHECK(wait_until([&] { return threads_of(process.pid()) == 1; }));  // the watchdog has noticed
  release(server, "b");
  process.wait_for_stdout("in a b");
  CHECK(server.command({"HVALS", "a"}) == "1");
  process.close_stdin();
  CHECK(process.wait().status == 0);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("several locks: a lease that ends while another lock is awaited is begun anew") {
  Server server;
  Result result;
  // Who waits with a lock in hand lets go after 2 s, so the lease is shorter. A busy machine may
  // take as long for the command, but not each time.
  for (int i = 0; i < 5; ++i) {
    hold(server, "b");
    Process process(exec(server, Words{"--no-watchdog", "--lease", "1s", "a", "b"} + k_until_told));
    REQUIRE(comes_to_wait(server, "b"));  // it has taken the first one
    CHECK(wait_until([&] { return !is_held(server, "a"); }));
    release(server, "b");
    result = process.wait();
    if (result.status == 0) break;
  }
  CHECK(result.status == 0);
  CHECK(result.out == "in a b\n");
  CHECK(result.err.empty());
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("several locks: a lease that is shorter than it takes to take them is a loss") {
  Server server;
  Proxy proxy(server.unix_path());
  proxy.set_delay(400ms);
  Words names{"a", "b", "c"};
  SUBCASE("three") {}
  SUBCASE("eight, which take longer than a short wait may") {
    names = {"a", "b", "c", "d", "e", "f", "g", "h"};
  }
  const Result result =
      run(rlock_argv("exec", "-r", proxy.url(), "--no-watchdog", "--lease", "800ms") + names +
          Words{"--", "echo", "ran"});
  CHECK(result.status == 79);
  CHECK(result.out.empty());
  CHECK(has(result.err, "rlock: a: lock lost: its lease has ended\n"));
  CHECK(result.err.ends_with("rlock: a and " + std::to_string(names.size() - 1) +
                             " more: the command was not started; use a longer --lease if taking "
                             "the lock is slow\n"));
  CHECK(!has(result.err, "not released"));
  CHECK(wait_until([&] { return server.keys().empty(); }, 60s));
}

TEST_CASE("several locks: an outage after it has let go is borne like one while it waits") {
  Server server;
  Proxy proxy(server.unix_path());
  hold(server, "b");
  Process process(rlock_argv("exec", "-r", proxy.url(), "--timeout", "3s", "a", "b") + k_until_told,
                  {.hold_stdin = true});
  CHECK(wait_until([&] { return is_held(server, "a"); }));
  proxy.set_delay(500ms);  // so that the server goes before the answer to the release arrives
  CHECK(wait_until([&] { return !is_held(server, "a"); }));
  proxy.set_mode(Mode::refuse);
  CHECK_FALSE(wait_until([&] { return !process.running(); }, 4s));
  proxy.set_delay(0ms);
  proxy.set_mode(Mode::pass);
  release(server, "b");
  process.wait_for_stdout("in a b");
  CHECK(server.command({"HVALS", "a"}) == "1");
  process.close_stdin();
  CHECK(process.wait().status == 0);
  // A request that got no answer is remembered for a while.
  CHECK(!is_held(server, "a"));
  CHECK(!is_held(server, "b"));
}

TEST_CASE("several locks: whichever is lost, the command is ended and the others are given back") {
  Server server;
  std::string lost;
  SUBCASE("the first") { lost = "a"; }
  SUBCASE("the last") { lost = "c"; }
  Process process(
      exec(server, {"--lease", "6s", "a", "b", "c", "--", "sh", "-c", "echo in; exec sleep 60"}));
  process.wait_for_stdout("in");
  server.command({"DEL", lost});
  const Result result = process.wait();
  CHECK(result.status == 79);
  CHECK(result.err.starts_with("rlock: " + lost + ": lock lost: "));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE(
    "several locks: a server that does not answer is waited for once when they are released") {
  Server server;
  const Result result = end_while_paused(server, {"--timeout", "1s", "a", "b", "c"});
  CHECK(result.status == 0);
  CHECK(
      has(result.err, "rlock: c: not released, it ends with its lease: no answer from redis at "));
  for (const std::string name : {"a", "b"}) {
    CHECK(has(result.err, "rlock: " + name +
                              ": not released, it ends with its lease: the server did not answer "
                              "before\n"));
  }
}

TEST_CASE("several locks: one whose lease ends before the release is told if --at-least keeps it") {
  Words names{"a", "b", "c"};
  SUBCASE("of three") {}
  SUBCASE("of one") { names = {"a"}; }
  for (const bool keeps : {false, true}) {
    CAPTURE(keeps);
    Server server;
    const Words options = keeps ? Words{"--at-least", "1h"} : Words{};
    const Result result =
        end_while_paused(server, options + Words{"--timeout", "1m", "--lease", "6s"} + names);
    CHECK(result.status == 0);
    std::string told;
    for (auto name = names.rbegin(); keeps && name != names.rend(); ++name) {
      told += "rlock: " + *name +
              ": not kept for --at-least: its lease ended before the server answered the release\n";
    }
    CHECK(result.err == told);
  }
}

TEST_CASE("several locks: a nested run re-enters those that its parent has") {
  Server server;
  const std::string inner = rlock_program() + " exec -r " + server.unix_url() +
                            " b c a -- redis-cli -s " + server.unix_path() + " hvals ";
  const Result result = run(
      exec(server, {"a", "b", "--", "sh", "-c", inner + "a && " + inner + "b && " + inner + "c"}));
  CHECK(result.status == 0);
  CHECK(result.out == "2\n2\n1\n");
  CHECK(server.keys().empty());
}

TEST_CASE("S7: who has held another lock for longer than its lease meanwhile is still guarded" *
          doctest::test_suite("S7")) {
  Server server;
  hold(server, "b");
  Process process(exec(server, {"--no-watchdog", "--lease", "1s", "--kill-after", "0", "a", "b",
                                "--", "sh", "-c", "echo in $$; exec sleep 60"}));
  REQUIRE(comes_to_wait(server, "b"));       // it has taken the first one
  server.command({"PEXPIRE", "b", "6000"});  // it lets go, and waits with empty hands, sooner
  process.wait_for_stdout("\n");
  const pid_t command = std::stoi(process.out().substr(3));
  ::kill(process.pid(), SIGKILL);
  CHECK(wait_until([&] { return ::kill(command, 0) != 0; }));
}

TEST_CASE("several locks: a command that may run on when one is lost keeps the others") {
  Server server;
  Process process(
      exec(server, Words{"--on-lost", "ignore", "--lease", "4500ms", "a", "b"} + k_until_told),
      {.hold_stdin = true});
  process.wait_for_stdout("in a b");
  server.command({"DEL", "a"});
  long long end = 0;
  const long long first_end = std::stoll(server.command({"PEXPIRETIME", "b"}));
  CHECK(wait_until([&] {
    end = std::stoll(server.command({"PEXPIRETIME", "b"}));
    return end < 0 || end > first_end + 5400;
  }));
  CHECK(end > first_end + 5400);
  process.close_stdin();
  CHECK(process.wait().status == 79);
  CHECK(server.keys().empty());
}
