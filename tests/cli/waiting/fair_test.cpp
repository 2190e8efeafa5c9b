// Fair locks on the command line: order, re-entry, options, and what a person sees.
// Labels: server rights-fair quick
#include <algorithm>
#include <chrono>
#include <csignal>
#include <deque>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/contents.hpp"
#include "support/fair_lock.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

// A command that writes when it begins and when it ends.
Words turn(const Server& server, const std::string& who) {
  return {"sh", "-c", "echo in $2 >>$1; echo out $2 >>$1", "sh", server.directory() + "/turns",
          who};
}

std::string turns(const Server& server) { return contents(server.directory() + "/turns"); }

Result invoke(const Server& server, Words words) {
  words.insert(words.begin(), rlock_program());
  return run(words, {.env = {{"RLOCK_REDIS", server.unix_url()}}});
}

}  // namespace

TEST_CASE("W4: first come, first served, one at a time, and nothing is left" *
          doctest::test_suite("W4")) {
  Server server;
  hold_by_other(server);
  std::deque<Process> waiters;
  std::string expected;
  for (const char* who : {"1", "2", "3", "4", "5", "6"}) {
    waiters.emplace_back(fair_argv(server, {}, turn(server, who)));
    REQUIRE(comes_to_queue(server, waiters.size()));
    expected += std::string("in ") + who + "\nout " + who + "\n";
  }
  let_go(server);
  for (Process& waiter : waiters) {
    const Result result = waiter.wait();
    CHECK(result.status == 0);
    CHECK(result.err.empty());
  }
  CHECK(turns(server) == expected);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("W4: those who have waited go before those who come" * doctest::test_suite("W4")) {
  Server server;
  Process holder(fair_argv(server, {}, {"sh", "-c", "echo held; cat"}), {.hold_stdin = true});
  holder.wait_for_stdout("held");
  Process waiter(fair_argv(server, {}, {"sh", "-c", "echo held; cat"}), {.hold_stdin = true});
  REQUIRE(comes_to_queue(server, 1));
  // It cannot come now, and it is its turn: nobody else gets the lock, though it is free.
  waiter.signal(SIGSTOP);
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
  CHECK(server.command({"EXISTS", "job"}) == "0");
  Process other(fair_argv(server, {"-n"}, {"echo", "ran"}));
  REQUIRE(comes_to_queue(server, 2));  // to see whether the head comes
  waiter.signal(SIGCONT);
  waiter.wait_for_stdout("held");
  const Result refused = other.wait();
  CHECK(refused.status == 75);
  CHECK(refused.out.empty());
  waiter.close_stdin();
  CHECK(waiter.wait().status == 0);
  CHECK(run(fair_argv(server, {"-n"}, {"true"})).status == 0);
}

TEST_CASE("W6: a queue survives a restart of the server, in its order" *
          doctest::test_suite("W6")) {
  Server server({.args = {"--appendonly", "yes", "--appendfsync", "always"}});
  hold_by_other(server);
  std::deque<Process> waiters;
  for (const char* who : {"1", "2", "3"}) {
    waiters.emplace_back(fair_argv(server, {}, turn(server, who)));
    REQUIRE(comes_to_queue(server, waiters.size()));
  }
  const Words before = queue(server);
  server.stop();
  server.start();
  // Each listens again on a channel of its own.
  for (const std::string& owner : before) {
    CHECK(wait_until([&] {
      return server.list({"PUBSUB", "NUMSUB", k_channel + ":" + owner}).back() == "1";
    }));
  }
  CHECK(queue(server) == before);
  let_go(server);
  for (Process& waiter : waiters) CHECK(waiter.wait().status == 0);
  CHECK(turns(server) == "in 1\nout 1\nin 2\nout 2\nin 3\nout 3\n");
}

TEST_CASE("fair re-entry: a nested exec does not wait behind those in the queue") {
  Server server;
  std::string option;
  SUBCASE("fair in fair") { option = "--fair"; }
  SUBCASE("plain in fair") { option = "--kind=reentrant"; }
  Process outer(fair_argv(server, {},
                          {"sh", "-c",
                           "echo held; read go; \"$RLOCK\" exec -n " + option +
                               " job -- sh -c 'echo inner; read go'; echo back; read go"}),
                {.env = {{"RLOCK", rlock_program()}, {"RLOCK_REDIS", server.unix_url()}},
                 .hold_stdin = true});
  outer.wait_for_stdout("held");
  Process waiter(fair_argv(server, {}, {"echo", "got"}));
  REQUIRE(comes_to_queue(server, 1));
  outer.write_stdin("\n");
  outer.wait_for_stdout("inner");
  CHECK(server.command({"HVALS", "job"}) == "2");
  outer.write_stdin("\n");
  outer.wait_for_stdout("back");
  CHECK(server.command({"HVALS", "job"}) == "1");
  CHECK(waiter.running());
  CHECK(queue(server).size() == 1);
  outer.close_stdin();
  const Result result = outer.wait();
  CHECK(result.status == 1);  // read at the end of file
  CHECK(result.err.empty());
  CHECK(waiter.wait().out == "got\n");
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("fair re-entry: the nested command hears of its lock's kind") {
  Server server;
  const Words nested = {"sh", "-c", "\"$RLOCK\" exec --fair job -- printenv RLOCK_KIND"};
  const Result result =
      run(fair_argv(server, {}, nested),
          {.env = {{"RLOCK", rlock_program()}, {"RLOCK_REDIS", server.unix_url()}}});
  CHECK(result.status == 0);
  CHECK(result.out == "fair\n");
}

TEST_CASE("fair: the command hears of its lock's kind, and a free lock needs no queue") {
  Server server;
  for (const char* option : {"--fair", "--kind=fair"}) {
    const Result result = invoke(server, {"exec", option, "job", "--", "printenv", "RLOCK_KIND"});
    CHECK(result.out == "fair\n");
    CHECK(result.err.empty());
  }
  const Result several =
      invoke(server, {"exec", "--fair", "b", "a", "--", "printenv", "RLOCK_KIND", "RLOCK_NAME"});
  CHECK(several.out == "fair\na\nb\n");
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("fair: who does not want to wait does not queue") {
  Server server;
  hold_by_other(server);
  const auto refuse = [&](const Words& options, int status) {
    const Result result = run(fair_argv(server, options, {"echo", "ran"}));
    CHECK(result.status == status);
    CHECK(result.out.empty());
    CHECK(result.err ==
          (status == 0
               ? ""
               : "rlock: job: not acquired: a hash; if it is a lock, it is held by other:1\n"));
    CHECK(wait_until([&] { return server.keys() == Words{"job"}; }));
  };
  refuse({"-n"}, 75);
  refuse({"--wait", "0", "-E", "9"}, 9);
  // rpush has not been called at all so far.
  CHECK_FALSE(has(server.command({"INFO", "commandstats"}), "cmdstat_rpush"));
  refuse({"-w", "2s", "-E", "0"}, 0);
  CHECK(has(server.command({"INFO", "commandstats"}), "cmdstat_rpush"));
}

TEST_CASE("fair: who is refused while the lock is free is told that others are first") {
  Server server;
  Peer peer(server, "r:1");
  hold_by_other(server);
  peer.listen();
  CHECK_FALSE(peer.acquire());
  server.command({"DEL", "job"});
  const Result result = run(fair_argv(server, {"-n"}, {"echo", "ran"}));
  CHECK(result.status == 75);
  CHECK(result.err.starts_with(
      "rlock: job: not acquired: the lock is free, but others in its queue are first: rlock -r " +
      server.unix_url()));
  CHECK(result.err.ends_with(" inspect-queue job\n"));
}

TEST_CASE("fair: acquire, renew and unlock; the next in the queue is called") {
  Server server;
  const Result taken = invoke(server, {"acquire", "--no-watchdog", "--fair", "--json", "job"});
  REQUIRE(taken.status == 0);
  CHECK(has(taken.out, "\"kind\":\"fair\""));
  CHECK(has(taken.out, "\"count\":1"));
  const std::string owner = server.command({"HKEYS", "job"});
  CHECK(has(taken.out, "\"owner\":\"" + owner + "\""));
  CHECK(invoke(server, {"renew", "--owner", owner, "--lease", "1h", "job"}).status == 0);
  CHECK(pttl(server) > 3'000'000);

  Process waiter(
      rlock_argv("acquire", "--no-watchdog", "--kind", "fair", "-r", server.unix_url(), "job"));
  REQUIRE(comes_to_queue(server, 1));
  Process next(fair_argv(server, {}, {"echo", "got"}));
  REQUIRE(comes_to_queue(server, 2));
  CHECK(invoke(server, {"unlock", "--owner", owner, "job"}).status == 0);
  const Result got = waiter.wait();
  CHECK(got.status == 0);
  SUBCASE("by its owner") {
    CHECK(invoke(server, {"unlock", "--owner", got.out.substr(0, got.out.find('\n')), "job"})
              .status == 0);
  }
  SUBCASE("by force") { invoke(server, {"unlock", "--force", "-y", "job"}); }
  CHECK(next.wait().out == "got\n");
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("fair: the keys of any name are Redisson's") {
  Server server;
  for (const std::string name : {"{a}b", "\xc3\xbc \"'", "x:y"}) {
    const std::string braced = has(name, "{") ? name : "{" + name + "}";
    server.command({"HSET", name, "other:1", "1"});
    Process waiter(rlock_argv("exec", "-q", "--fair", "-r", server.unix_url(), name, "--", "true"));
    CHECK(wait_until([&] {
      return server.command({"LLEN", "redisson_lock_queue:" + braced}) == "1";
    }));
    const std::string owner = server.command({"LINDEX", "redisson_lock_queue:" + braced, "0"});
    CHECK(server.command({"ZSCORE", "redisson_lock_timeout:" + braced, owner}) != "(nil)");
    server.command({"DEL", name});
    server.command({"PUBLISH", "redisson_lock__channel:" + braced + ":" + owner, "0"});
    CHECK(waiter.wait().status == 0);
    CHECK(comes_to_be_empty(server));
  }
}

TEST_CASE("fair: a wait on a terminal shows the place in the queue, until it ends") {
  Server server;
  hold_by_other(server);
  Process first(fair_argv(server, {}, {"true"}));
  REQUIRE(comes_to_queue(server, 1));
  Pty second(fair_argv(server, {}, {"echo", "got"}), {.columns = 200});
  second.expect("job: waiting");
  second.expect(" at position 2 for ");
  first.signal(SIGTERM);
  CHECK(first.wait().status == 128 + SIGTERM);
  server.command({"PUBLISH", k_channel + ":" + queue(server).at(0), "0"});  // it looks again
  second.expect(" at position 1 for ");
  let_go(server);
  second.expect("\r\x1b[K");
  second.expect("got");
  CHECK(second.wait().status == 0);
}
