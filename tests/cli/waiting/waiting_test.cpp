// Waiting for a lock: how a waiter sleeps, wakes and gives up.
// Labels: long server
#include <chrono>
#include <csignal>
#include <deque>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/foreign_lock.hpp"
#include "cli/waiting/waiting_fixture.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/pty.hpp"
#include "support/resp.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::waits;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

std::size_t rlock_clients(const Server& server) {
  const std::string list = server.command({"CLIENT", "LIST"});
  std::size_t count = 0;
  for (std::size_t at = list.find("name=rlock"); at != std::string::npos;
       at = list.find("name=rlock", at + 1)) {
    ++count;
  }
  return count;
}

// Requests for a lock so far: scripts run by their SHA1, which is how each is sent.
long requests(const std::string& stats) {
  const std::string key = "cmdstat_evalsha:calls=";
  const std::size_t at = stats.find(key);
  return at == std::string::npos ? 0 : std::stol(stats.substr(at + key.size()));
}

long requests(const Server& server) { return requests(server.command({"INFO", "commandstats"})); }

// Nothing of a waiter is left: neither keys beside the lock of `name` nor connections.
void check_no_trace(const Server& server, const std::string& name) {
  CHECK(wait_until([&] { return rlock_clients(server) == 0; }));
  CHECK(listeners(server, channel(name)) == 0);
  CHECK(server.keys() == Words{name});
}

}  // namespace

TEST_CASE("W1: a release wakes the waiter, which listens while it sleeps" *
          doctest::test_suite("W1")) {
  Server server;
  const Result taken =
      run(rlock_argv("acquire", "--no-watchdog", "--lease", "1h", "-r", server.unix_url(), "job"));
  REQUIRE(taken.status == 0);
  const std::string owner = taken.out.substr(0, taken.out.find('\n'));
  std::deque<Process> processes;
  for (int i = 0; i < 3; ++i) processes.emplace_back(exec_argv(server.unix_url(), "job"));
  REQUIRE(comes_to_wait(server, "job", 3));
  CHECK(run(rlock_argv("unlock", "--owner", owner, "-r", server.unix_url(), "job")).status == 0);
  for (Process& process : processes) check_got(process);
  check_free(server);
  CHECK(listeners(server, channel("job")) == 0);
}

TEST_CASE("W1: a message is a hint: the waiter asks again, and goes on waiting" *
          doctest::test_suite("W1")) {
  Server server;
  hold(server, "job");
  Process waiter(exec_argv(server.unix_url(), "job"));
  REQUIRE(comes_to_wait(server, "job"));
  for (const char* message : {"0", "1", "nonsense", ""}) {
    const long before = requests(server);
    CHECK(server.command({"PUBLISH", channel("job"), message}) == "1");
    CHECK(wait_until([&] { return requests(server) > before; }));
  }
  CHECK(waiter.running());
  server.command({"DEL", "job"});
  server.command({"PUBLISH", channel("job"), "0"});
  check_got(waiter);
}

TEST_CASE("W1: whoever subscribes asks again, so a release just before is not missed" *
          doctest::test_suite("W1")) {
  Server server;
  hold(server, "job");
  Process waiter(exec_argv(server.unix_url(), "job"));
  REQUIRE(comes_to_wait(server, "job"));
  CHECK(wait_until([&] { return requests(server) >= 2; }));
  server.command({"DEL", "job"});
  server.command({"PUBLISH", channel("job"), "0"});
  check_got(waiter);
}

TEST_CASE("W1: a message that is lost costs one bounded sleep" * doctest::test_suite("W1")) {
  Server server;
  Proxy proxy(server.port());
  for (const char* name : {"deleted", "killed", "dark", "forever"}) hold(server, name);
  hold(server, "expires", 1500);
  server.command({"PERSIST", "forever"});

  Process deleted(exec_argv(server.unix_url(), "deleted"));
  Process killed(exec_argv(server.unix_url(), "killed"));
  Process dark(exec_argv(proxy.url(), "dark"));
  Process expires(exec_argv(server.unix_url(), "expires"));
  Process forever(
      rlock_argv("exec", "-q", "-r", server.unix_url(), "forever", "--", "echo", "got"));
  for (const char* name : {"deleted", "killed", "dark", "forever"}) {
    CAPTURE(name);
    REQUIRE(comes_to_wait(server, name));
  }
  // A message while the network is dark, and connections which the server has forgotten.
  proxy.set_mode(Mode::blackhole);
  server.command({"DEL", "dark"});
  server.command({"PUBLISH", channel("dark"), "0"});
  proxy.cut();
  proxy.set_mode(Mode::pass);
  server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
  for (const char* name : {"deleted", "killed", "forever"}) server.command({"DEL", name});
  for (Process* process : {&deleted, &killed, &dark, &expires, &forever}) check_got(*process);
  check_free(server);
}

TEST_CASE("W1: a lock that another takes first is waited for again" * doctest::test_suite("W1")) {
  Server server;
  hold(server, "job");
  Process waiter(exec_argv(server.unix_url(), "job"));
  REQUIRE(comes_to_wait(server, "job"));
  for (int round = 0; round < 3; ++round) {
    const long before = requests(server);
    // Released and taken again in one step.
    server.command({"EVAL",
                    "redis.call('del', KEYS[1]) redis.call('publish', ARGV[1], '0') "
                    "redis.call('hset', KEYS[1], 'other:' .. ARGV[2], 1) "
                    "return redis.call('pexpire', KEYS[1], 600000)",
                    "1", "job", channel("job"), std::to_string(round)});
    CHECK(wait_until([&] { return requests(server) > before; }));
    CHECK(waiter.running());
  }
  server.command({"DEL", "job"});
  server.command({"PUBLISH", channel("job"), "0"});
  check_got(waiter);
}

TEST_CASE("W2: a waiter is no busy loop, whatever the keys hold" * doctest::test_suite("W2")) {
  Server server;
  const auto garbage = [&](const std::string& name) {
    hold(server, name, 0);
    server.command({"RPUSH", "redisson_lock_queue:{" + name + "}", "", "x", "no score", "x"});
    server.command({"ZADD", "redisson_lock_timeout:{" + name + "}", "-inf", "y", "inf", "z"});
  };
  hold(server, "forever", 0);
  garbage("garbage");
  hold(server, "wrong", 0);
  server.command({"SET", "redisson_lock_queue:{wrong}", "x"});
  server.command({"SET", "rlock_info:{wrong}", "x"});
  std::deque<Process> processes;
  for (const char* name : {"forever", "garbage", "wrong"}) {
    processes.emplace_back(rlock_argv("exec", "-q", "-r", server.unix_url(), name, "--", "true"));
  }
  for (const char* name : {"forever", "garbage", "wrong"}) REQUIRE(comes_to_wait(server, name));
  const Clock::time_point start = Clock::now();
  const long before = requests(server);
  wait_until([&] { return Clock::now() - start > 3s; });
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(Clock::now() - start).count();
  // Each may have the request after the subscription to come, and one per 5 s.
  CHECK(requests(server) - before <= 3 * (2 + seconds / 5));
}

TEST_CASE("W2: a waiter for whose listening the server has no room is no busy loop" *
          doctest::test_suite("W2")) {
  Server server;
  hold(server, "job", 0);
  Process waiter(rlock_argv("exec", "-q", "-r", server.unix_url(), "job", "--", "true"));
  REQUIRE(comes_to_wait(server, "job"));
  RespClient client = server.connect();
  client.call({"CONFIG", "SET", "maxclients", "2"});  // this one, and the waiter's requests
  client.call({"CLIENT", "KILL", "TYPE", "pubsub"});
  REQUIRE(wait_until([&] {
    return !has(client.call({"INFO", "stats"}).at(0), "rejected_connections:0") &&
           requests(client.call({"INFO", "commandstats"}).at(0)) >= 6;
  }));
  const Clock::time_point start = Clock::now();
  const auto asked = [&] { return requests(client.call({"INFO", "commandstats"}).at(0)); };
  const long before = asked();
  wait_until([&] { return Clock::now() - start > 4s; });
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(Clock::now() - start).count();
  CHECK(asked() - before <= 2 + seconds / 5);
}

TEST_CASE(
    "W2: a waiter that is flooded with messages asks no more than 20 times a second for long" *
    doctest::test_suite("W2")) {
  Server server;
  hold(server, "job");
  Process waiter(exec_argv(server.unix_url(), "job"));
  REQUIRE(comes_to_wait(server, "job"));
  RespClient flood = server.connect();
  const long before = requests(server);
  const auto start = Clock::now();
  while (Clock::now() - start < 3s) flood.call({"PUBLISH", channel("job"), "0"});
  const long sent = requests(server) - before;
  const auto took = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start).count();
  CHECK(sent <= 60 + 20 * (took + 1));
  CHECK(waiter.running());
  server.command({"DEL", "job"});
  server.command({"PUBLISH", channel("job"), "0"});
  check_got(waiter);
}

TEST_CASE("W2: a TTL that is always about to end makes no busy loop" * doctest::test_suite("W2")) {
  Server server;
  hold(server, "job", 600'000);
  Process waiter(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "sleep", "100"));
  REQUIRE(comes_to_wait(server, "job"));
  RespClient holder = server.connect();
  const Clock::time_point start = Clock::now();
  const long before = requests(server);
  server.command({"PUBLISH", channel("job"), "0"});
  while (Clock::now() - start < 2s) {
    holder.call({"PEXPIRE", "job", "20"});
  }
  const auto elapsed = std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - start).count();
  CHECK(requests(server) - before <= 3 + elapsed / 50);
}

TEST_CASE("W3: who gives up leaves no key and no client" * doctest::test_suite("W3")) {
  Server server;
  hold(server, "job");
  const auto give_up = [&](const Words& options) {
    Words argv = rlock_argv("exec", "-r", server.unix_url(), options, "job", "--", "echo", "got");
    const Result result = run(argv);
    const std::string message = "rlock: job: not acquired: held by " + k_foreign_owner + "\n";
    CHECK(result.err == (result.status == 0 ? "" : message));
    CHECK(result.out.empty());
    check_no_trace(server, "job");
    return result.status;
  };
  CHECK(give_up({"-n"}) == 75);
  CHECK(give_up({"--no-wait", "-E", "0"}) == 0);
  CHECK(give_up({"--wait", "0", "-E", "255"}) == 255);
  CHECK(give_up({"-w", "300ms"}) == 75);
  CHECK(give_up({"--wait=0.2", "--conflict-exit-code=3"}) == 3);
  const Result quiet =
      run(rlock_argv("exec", "-q", "-n", "-r", server.unix_url(), "job", "--", "true"));
  CHECK(quiet.status == 75);
  CHECK(quiet.err.empty());
  const Result taken = run(rlock_argv("acquire", "--no-watchdog", "-w", "100ms", "-E", "9", "-r",
                                      server.unix_url(), "job"));
  CHECK(taken.status == 9);
  CHECK(taken.out.empty());
  CHECK(is_one_message(taken.err));
  check_no_trace(server, "job");
}

TEST_CASE("W3: a signal ends a wait with 128 + its number, without a trace" *
          doctest::test_suite("W3")) {
  Server server;
  hold(server, "job");
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1}) {
    CAPTURE(signal);
    Process waiter(exec_argv(server.unix_url(), "job"));
    Process taker(rlock_argv("acquire", "--no-watchdog", "-r", server.unix_url(), "job"));
    REQUIRE(comes_to_wait(server, "job", 2));
    for (Process* process : {&waiter, &taker}) {
      process->signal(signal);
      const Result result = process->wait();
      CHECK(result.status == 128 + signal);
      CHECK(result.out.empty());
      CHECK(result.err.empty());
    }
    check_no_trace(server, "job");
  }
}

TEST_CASE("W3: a signal during an outage ends the wait, too" * doctest::test_suite("W3")) {
  Server server;
  hold(server, "job");
  Process waiter(rlock_argv("exec", "-v", "-r", server.unix_url(), "job", "--", "echo", "got"));
  REQUIRE(comes_to_wait(server, "job"));
  server.stop();
  waiter.wait_for_stderr("still waiting");
  waiter.signal(SIGTERM);
  const Result result = waiter.wait();
  CHECK(result.status == 128 + SIGTERM);
  CHECK(result.out.empty());
}

TEST_CASE("W3: a signal that comes with the grant leaves no lock and starts no command" *
          doctest::test_suite("W3")) {
  Server server;
  for (int round = 0; round < 10; ++round) {
    hold(server, "job");
    Process waiter(exec_argv(server.unix_url(), "job"));
    REQUIRE(comes_to_wait(server, "job"));
    server.command({"DEL", "job"});
    server.command({"PUBLISH", channel("job"), "0"});
    waiter.signal(SIGTERM);
    const Result result = waiter.wait();
    // Either the signal came first, or the command had started (and may have ended) before it.
    const bool first = result.status == 128 + SIGTERM;
    const bool late = result.status == 0 && result.out == "got\n";
    CHECK((first || late));
    check_free(server);
  }
}
