// Waiting for a lock: how a waiter sleeps, wakes, survives and gives up.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <deque>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/foreign_lock.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/pty.hpp"
#include "support/resp.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

std::string channel(const std::string& name) { return "redisson_lock__channel:{" + name + "}"; }

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

Words exec_argv(const std::string& url, const std::string& name) {
  return rlock_argv("exec", "-r", url, name, "--", "echo", "got");
}

void check_got(Process& waiter) {
  const Result result = waiter.wait();
  CAPTURE(result.err);
  CHECK(result.status == 0);
  CHECK(result.out == "got\n");
  CHECK(result.err.empty());
}

// No lock is left. A request that was sent twice leaves the note that it was done for a while.
void check_free(const Server& server) {
  for (const std::string& key : server.keys()) {
    CAPTURE(key);
    CHECK(key.starts_with("redisson_unlock_latch:"));
    CHECK(server.command({"PTTL", key}) != "-1");
  }
}

// Nothing of a waiter is left: neither keys beside the lock of `name` nor connections.
void check_no_trace(const Server& server, const std::string& name) {
  CHECK(wait_until([&] { return rlock_clients(server) == 0; }));
  CHECK(listeners(server, channel(name)) == 0);
  CHECK(server.keys() == Words{name});
}

}  // namespace

TEST_CASE("W1: a release wakes the waiter, which listens while it sleeps") {
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

TEST_CASE("W1: a message is a hint: the waiter asks again, and goes on waiting") {
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

TEST_CASE("W1: whoever subscribes asks again, so a release just before is not missed") {
  Server server;
  hold(server, "job");
  Process waiter(exec_argv(server.unix_url(), "job"));
  REQUIRE(comes_to_wait(server, "job"));
  CHECK(wait_until([&] { return requests(server) >= 2; }));
  server.command({"DEL", "job"});
  server.command({"PUBLISH", channel("job"), "0"});
  check_got(waiter);
}

TEST_CASE("W1: a message that is lost costs one bounded sleep") {
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

TEST_CASE("W1: a lock that another takes first is waited for again") {
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

TEST_CASE("W2: a waiter is no busy loop, whatever the keys hold") {
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

TEST_CASE("W2: a waiter for whose listening the server has no room is no busy loop") {
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
    "W2: a waiter that is flooded with messages asks no more than 20 times a second for long") {
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

TEST_CASE("W2: a TTL that is always about to end makes no busy loop") {
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

TEST_CASE("W6: a waiter survives a restart of the server") {
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

TEST_CASE("W6: with -v a waiter tells of the outage, once, and what came of it") {
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

TEST_CASE("W6: a waiter survives the loss of scripts and connections") {
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

TEST_CASE("W6: a waiter outlives a server that is out of order for a while") {
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

TEST_CASE("W6: a waiter does not wait for a server beyond its own time") {
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

TEST_CASE("W3: who gives up leaves no key and no client") {
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

TEST_CASE("W3: a signal ends a wait with 128 + its number, without a trace") {
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

TEST_CASE("W3: a signal during an outage ends the wait, too") {
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

TEST_CASE("W3: a signal that comes with the grant leaves no lock and starts no command") {
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

TEST_CASE("a lock without an expiry is told once") {
  Server server;
  hold(server, "job", 0);
  const Result result =
      run(rlock_argv("exec", "-w", "2s", "-r", server.unix_url(), "job", "--", "true"));
  CHECK(result.status == 75);
  CHECK(result.err.starts_with("rlock: job: held without an expiry by " + k_foreign_owner));
  CHECK(result.err.ends_with("\nrlock: job: not acquired: held by " + k_foreign_owner + "\n"));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 2);
}

TEST_CASE("a lock that never ends is told also to who skips it in silence") {
  Server server;
  hold(server, "job", 0);
  const std::vector<std::string> skip{"-n", "-E", "0", "job", "--", "true"};
  Words argv = rlock_argv("exec", "-r", server.unix_url(), skip);
  const Result result = run(argv);
  CHECK(result.status == 0);
  CHECK(result.err.starts_with("rlock: job: held without an expiry by " + k_foreign_owner));
  CHECK(is_one_message(result.err));
  argv.insert(argv.begin() + 1, "-q");
  CHECK(run(argv).err.empty());
}

TEST_CASE("with -v a wait without a terminal is told: its start, and its end") {
  Server server;
  hold(server, "job");
  Process rlock(rlock_argv("exec", "-v", "-r", server.unix_url(), "job", "--", "true"));
  rlock.wait_for_stderr("rlock: job: waiting for " + k_foreign_owner);
  server.command({"DEL", "job"});
  server.command({"PUBLISH", channel("job"), "0"});
  const Result result = rlock.wait();
  CHECK(result.status == 0);
  CHECK(has(result.err, "\nrlock: job: acquired after "));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 2);
}

TEST_CASE("a wait on a terminal shows one line, which vanishes") {
  Server server;
  Process holder(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "sh", "-c",
                            "echo ready; cat > /dev/null"),
                 {.hold_stdin = true});
  holder.wait_for_stdout("ready");
  Pty waiter(exec_argv(server.unix_url(), "job"));
  waiter.expect("job: waiting");
  waiter.expect("pid " + std::to_string(holder.pid()) + " (sh)");
  holder.close_stdin();
  waiter.expect("\r\x1b[K");
  waiter.expect("got");
  CHECK(waiter.wait().status == 0);
  CHECK(holder.wait().status == 0);
}

TEST_CASE("a wait that has a limit tells how much of it is left") {
  Server server;
  hold(server, "job");
  SUBCASE("on a terminal") {
    Pty waiter(rlock_argv("exec", "-w", "1h", "-r", server.unix_url(), "job", "--", "true"),
               {.columns = 200});
    waiter.expect("rlock: job: waiting ");
    waiter.expect("s (59m");
    waiter.expect("s left) for " + k_foreign_owner);
  }
  SUBCASE("with -v") {
    Process waiter(
        rlock_argv("exec", "-v", "-w", "1h", "-r", server.unix_url(), "job", "--", "true"));
    waiter.wait_for_stderr("rlock: job: waiting (");
    waiter.wait_for_stderr(" left) for " + k_foreign_owner);
  }
}

TEST_CASE("a waiter takes no part of a terminal that is not its own") {
  Server server;
  hold(server, "job");
  Process waiter(rlock_argv("exec", "-w", "1500ms", "-r", server.unix_url(), "job", "--", "true"));
  const Result result = waiter.wait();
  CHECK(result.status == 75);
  CHECK(is_one_message(result.err));
}

TEST_CASE("a holder of this host that has ended without giving the lock back is told") {
  Server server;
  for (const std::string kind : {"reentrant", "fair", "simple", "write", "semaphore"}) {
    CAPTURE(kind);
    const auto exec = [&](const Words& options, const Words& command) {
      return rlock_argv("exec", kind == "semaphore" ? "--permits=1" : "--kind=" + kind, "-r",
                        server.unix_url(), options, "job", "--", command);
    };
    Process holder(exec({"--lease", "1h"}, {"sh", "-c", "echo in; cat"}), {.hold_stdin = true});
    holder.wait_for_stdout("in");
    CHECK(run(exec({"-n", "-E", "0"}, {"true"})).err.empty());
    holder.signal(SIGKILL);
    CHECK(holder.wait_exit().status == 128 + SIGKILL);
    const Result result = run(exec({"-n", "-E", "0"}, {"echo", "ran"}));
    CHECK(result.status == 0);
    CHECK(result.out.empty());
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK(has(result.err, "which has ended without giving it back; its lease ends in 59m"));
    CHECK(has(result.err, kind == "semaphore" ? "unlock --owner " : "unlock --force "));
    CHECK(run(exec({"-n", "-E", "0", "-q"}, {"true"})).err.empty());
    server.command({"FLUSHALL"});
  }
}
