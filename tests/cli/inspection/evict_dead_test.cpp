// evict --dead: removes what is proven dead, and nobody else.
#include <csignal>
#include <deque>
#include <string>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "support/fair_lock.hpp"
#include "support/process.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

Words argv(const Server& server, const Words& options = {}) {
  return rlock_argv("evict", "--dead", "-r", server.unix_url(), options, "job");
}

Result evict_dead(const Server& server, Words options = {}) {
  options.push_back("-y");
  return run(argv(server, options));
}

std::string peer(int number) { return "r:" + std::to_string(number); }

// Queues waiters of Redisson, of which nobody listens.
void queue_peers(const Server& server, int first, int last) {
  for (int i = first; i <= last; ++i) CHECK_FALSE(Peer(server, peer(i)).acquire());
}

}  // namespace

TEST_CASE("evict --dead takes all of 499 dead waiters out, in one command") {
  Server server;
  hold_by_other(server);
  queue_peers(server, 1, 499);
  const Result told = run(rlock_argv("inspect-queue", "-r", server.unix_url(), "job"));
  CHECK(has(told.out, "499 waiters, all dead\n"));
  CHECK(has(told.out, "dead_head: all 499 waiters are dead, first r:1: "));
  CHECK(has(told.out, " evict --dead job\n"));
  const Result list = run(rlock_argv("list", "-r", server.unix_url()));
  CHECK(has(list.out, " 499 (all dead)  dead_head"));
  const Result result = evict_dead(server);
  CHECK(result.status == 0);
  CHECK(result.out.empty());
  CHECK(result.err == "rlock: job: evicted 499 dead waiters\n");
  CHECK(server.keys() == Words{"job"});
  const Result again = evict_dead(server);
  CHECK(again.status == 1);
  CHECK(again.err == "rlock: job: no waiter is dead\n");
  CHECK(evict_dead(server, {"-q"}).err.empty());
}

TEST_CASE("evict --dead leaves those that live, in their order, with the deadlines that are due") {
  Server server;
  hold_by_other(server);
  std::deque<Peer> living;
  for (int i = 1; i <= 12; ++i) {
    Peer one(server, peer(i));
    CHECK_FALSE(one.acquire());
    if (i % 4 == 0) {
      one.listen();
      living.push_back(std::move(one));
    }
  }
  Process ours(fair_argv(server, {}, {"echo", "got"}));
  REQUIRE(comes_to_queue(server, 13));
  const std::string last = queue(server).back();
  const Result result = evict_dead(server, {"--json"});
  CHECK(result.status == 0);
  CHECK(result.out == R"({"name":"job","evicted_count":9,"unknown_count":0})"
                      "\n");
  CHECK(result.err.empty());
  CHECK(queue(server) == Words{"r:4", "r:8", "r:12", last});
  // The lease of 10 minutes, and the waits of those before.
  for (int i = 1; i <= 3; ++i) {
    const long long ahead = deadline_ahead(server, peer(4 * i));
    CAPTURE(i);
    CHECK(ahead <= 600'000 + i * 300'000 + 3'000);
    CHECK(ahead > 600'000 + (i - 1) * 300'000 - 60'000);
  }
  CHECK(ours.running());
}

TEST_CASE("evict --dead: the next one gets a lock that is free") {
  Server server;
  hold_by_other(server);
  queue_peers(server, 1, 150);
  Process next(fair_argv(server, {}, {"echo", "got"}));
  REQUIRE(comes_to_queue(server, 151));
  server.command({"DEL", "job"});
  const Result result = evict_dead(server);
  CAPTURE(result.err);
  CHECK(next.wait().out == "got\n");
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("evict --dead: a waiter of this host that was killed is dead at once") {
  Server server;
  hold_by_other(server);
  std::deque<Process> waiters;
  for (std::size_t i = 1; i <= 3; ++i) {
    waiters.emplace_back(fair_argv(server, {}, {"echo", "got"}));
    REQUIRE(comes_to_queue(server, i));
  }
  const Words owners = queue(server);
  for (const std::size_t i : {0, 1}) {
    waiters[i].signal(SIGKILL);
    waiters[i].wait();
  }
  const Result told = run(rlock_argv("inspect-queue", "-r", server.unix_url(), "job"));
  CHECK(has(told.out, "3 waiters, 2 of them dead\n"));
  SUBCASE("by its owner") {
    const Result result = run(rlock_argv("evict", "-r", server.unix_url(), "job", owners[1]));
    CHECK(result.status == 0);
    CHECK_FALSE(has(result.err, "seems alive"));
    CHECK(queue(server) == Words{owners[0], owners[2]});
  }
  SUBCASE("all") {
    CHECK(evict_dead(server).err == "rlock: job: evicted 2 dead waiters\n");
    CHECK(queue(server) == Words{owners[2]});
  }
  let_go(server);
  CHECK(waiters[2].wait().out == "got\n");
}

TEST_CASE("evict --dead: rlock acquire that was killed while it waited is dead at once") {
  Server server;
  hold_by_other(server);
  Process waiter(rlock_argv("acquire", "--fair", "--pid", std::to_string(::getpid()), "-r",
                            server.unix_url(), "job"));
  REQUIRE(comes_to_queue(server, 1));
  CHECK_FALSE(
      has(run(rlock_argv("inspect-queue", "-r", server.unix_url(), "job")).out, "dead_head"));
  waiter.signal(SIGKILL);
  waiter.wait();
  CHECK(has(run(rlock_argv("inspect-queue", "-r", server.unix_url(), "job")).out, "dead_head"));
  CHECK(evict_dead(server).err == "rlock: job: evicted 1 dead waiter\n");
}

TEST_CASE("evict --dead leaves waiters that nobody can judge, and says so") {
  Server server;
  Server replica({.args = {"--replicaof", "127.0.0.1", std::to_string(server.port())}});
  REQUIRE(wait_until([&] {
    return has(server.command({"INFO", "replication"}), "connected_slaves:1");
  }));
  hold_by_other(server);
  queue_peers(server, 1, 2);
  const Result result = evict_dead(server);
  CHECK(result.status == 1);
  CHECK(
      result.err.starts_with("rlock: job: no waiter is dead; 2 waiters are left that may be dead"));
  CHECK(queue(server) == Words{"r:1", "r:2"});
}

TEST_CASE("evict --dead asks, and needs either a terminal or -y") {
  Server server;
  hold_by_other(server);
  queue_peers(server, 1, 2);
  const Result refused = run(argv(server));
  CHECK(refused.status == 64);
  CHECK(refused.err ==
        "rlock: evict: --dead asks before it evicts, and there is no terminal: give -y\n");
  CHECK(run(rlock_argv("evict", "-r", server.unix_url(), "job")).status == 64);
  CHECK(run(rlock_argv("evict", "-r", server.unix_url(), "--dead", "-y", "job", "r:1")).status ==
        64);
  for (const char* answer : {"n\r", "y\r"}) {
    CHECK(queue(server).size() == 2);
    Pty terminal(argv(server));
    terminal.expect("all 2 waiters are dead. Evict them? [y/N] ");
    terminal.type(answer);
    CHECK(terminal.wait().status == (answer[0] == 'y' ? 0 : 1));
  }
  CHECK(queue(server).empty());
}
