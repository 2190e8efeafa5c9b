// Sentinel: a master of old that still runs grants nothing that the new one has granted.
// Labels: long
#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "cli/servers/sentinel_fixture.hpp"
#include "support/proxy.hpp"
#include "support/waiters.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

bool is_listened_to(const Server& server) {
  return listeners(server, "redisson_lock__channel:{job}") == 1;
}

// As CLIENT LIST tells of each.
Words connections_of_rlock(const Server& server) {
  Words found;
  std::istringstream clients(server.command({"CLIENT", "LIST"}));
  for (std::string line; std::getline(clients, line);) {
    if (has(line, " name=rlock:")) found.push_back(line);
  }
  return found;
}

// Waits until a request of rlock's is held up by CLIENT PAUSE.
bool comes_to_be_paused(const Server& server) {
  return wait_until([&] {
    const auto runs = connections_of_rlock(server);
    return std::any_of(runs.begin(), runs.end(),
                       [](const std::string& run) { return has(run, " flags=b "); });
  });
}

// Of three sentinels, one names a master of old, and both masters run. `stale_epoch`: 1 if it was
// cut off before a failover, 9 if the others were set up anew.
struct Split {
  explicit Split(int stale_epoch) : stale(lone_sentinel(old, stale_epoch)) {}

  Server old;
  Server fresh;
  std::unique_ptr<Server> stale;
  std::unique_ptr<Server> sentinel = lone_sentinel(fresh, 5);
  std::unique_ptr<Server> other_sentinel = lone_sentinel(fresh, 5);
  std::string url = Sentinels::url_of({stale->port(), sentinel->port(), other_sentinel->port()});
};

}  // namespace

TEST_CASE("sentinel: while the new master hangs, the old one is not taken for it") {
  for (const int stale_epoch : {1, 9}) {
    CAPTURE(stale_epoch);
    Split split(stale_epoch);
    Process holder(cat(split.url, "job", "60s"), {.hold_stdin = true});
    holder.wait_for_stdout("got");
    CHECK(has_key(split.fresh, "job"));
    split.fresh.pause();
    const Result other = invoke(split.url, {"--timeout", "3s", "exec", "-n", "job", "--", "true"});
    CAPTURE(other.err);
    CHECK(other.status == 69);
    CHECK(split.old.keys().empty());
    split.fresh.resume();
    holder.close_stdin();
    CHECK(holder.wait().status == 0);
  }
}

TEST_CASE("sentinel: those that are slow are waited for, where no majority has answered") {
  Split split(9);
  Proxy slow(split.sentinel->port());
  Proxy other_slow(split.other_sentinel->port());
  slow.set_delay(400ms);
  other_slow.set_delay(400ms);
  const std::string url = Sentinels::url_of({split.stale->port(), slow.port(), other_slow.port()});
  Process holder(cat(url, "job", "60s"), {.hold_stdin = true});
  holder.wait_for_stdout("got");
  CHECK(has_key(split.fresh, "job"));
  CHECK(split.old.keys().empty());
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
}

TEST_CASE("sentinel: a holder leaves a master of old that lives on, and is ended if it has lost") {
  Stubborn split;
  Process holder(cat(split.url, "job", "30s"), {.hold_stdin = true});
  Process loser(cat(split.url, "other", "30s"), {.hold_stdin = true});
  holder.wait_for_stdout("got");
  loser.wait_for_stdout("got");
  REQUIRE(split.old.is_replicated());
  split.fail_over();
  REQUIRE(split.fresh.command({"PEXPIRE", "job", "20000"}) == "1");
  REQUIRE(split.fresh.command({"DEL", "other"}) == "1");
  CHECK(wait_until([&] { return pttl(split.fresh) > 20000; }));
  CHECK(wait_until([&] { return !loser.running(); }));
  loser.close_stdin();
  CHECK(loser.wait().status == 79);
  CHECK(holder.running());
  CHECK(invoke(split.url, {"exec", "-n", "job", "--", "true"}).status == 75);
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
  CHECK(!has_key(split.fresh, "job"));
}

TEST_CASE("sentinel: sentinels set up anew, whose epochs begin again, name the master") {
  Server old;
  Server fresh({.args = {"--replicaof", "127.0.0.1 " + std::to_string(old.port()),
                         "--repl-diskless-sync-delay", "0"}});
  std::vector<std::unique_ptr<Server>> sentinels;
  for (int i = 0; i < 3; ++i) sentinels.push_back(lone_sentinel(old, 9));
  const std::string url =
      Sentinels::url_of({sentinels[0]->port(), sentinels[1]->port(), sentinels[2]->port()});
  Process holder(cat(url, "job", "9s"), {.hold_stdin = true});
  holder.wait_for_stdout("got");
  Process loser(cat(url, "other", "9s"), {.hold_stdin = true});
  loser.wait_for_stdout("got");
  Process waiter(argv_for(url, {"exec", "job", "--", "echo", "got"}));
  REQUIRE(comes_to_wait(old));
  REQUIRE(wait_until([&] { return has_key(fresh, "other"); }));
  REQUIRE(fresh.command({"REPLICAOF", "NO", "ONE"}) == "OK");  // and the old one runs on
  REQUIRE(fresh.command({"DEL", "other"}) == "1");
  // First no sentinel knows it: one that still did would tell the others of the old one's epoch.
  for (const auto& sentinel : sentinels) {
    CHECK(sentinel->command({"SENTINEL", "REMOVE", Sentinels::k_master}) == "OK");
  }
  for (const auto& sentinel : sentinels) {
    CHECK(sentinel->command({"SENTINEL", "MONITOR", Sentinels::k_master, "127.0.0.1",
                             std::to_string(fresh.port()), "2"}) == "OK");
  }
  CHECK(loser.wait().status == 79);
  for (int renewal = 0; renewal < 4; ++renewal) {
    long before = pttl(fresh);
    REQUIRE(wait_until([&] {
      const long now = pttl(fresh);
      return now > std::exchange(before, now);
    }));
  }
  CHECK(holder.running());
  CHECK(waiter.running());
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
  const Result waited = waiter.wait();
  CAPTURE(waited.err);
  CHECK(waited.status == 0);
  CHECK(waited.out == "got\n");
}

TEST_CASE("sentinel: what a master of old grants to one who waits is none") {
  for (const bool has_hung : {false, true}) {
    CAPTURE(has_hung);
    Stubborn split;
    split.take(split.old);
    REQUIRE(split.old.is_replicated());
    Process waiter(
        argv_for(split.url, {"--timeout", "60s", "exec", "job", "--", "sh", "-c", "echo got; cat"}),
        {.hold_stdin = true});
    REQUIRE(comes_to_wait(split.old));
    if (has_hung) {
      // A request is under way while the failover happens; the lock ends meanwhile.
      split.old.command({"PEXPIRE", "job", "8000"});
      split.old.command({"CLIENT", "PAUSE", "300000", "WRITE"});
      REQUIRE(comes_to_be_paused(split.old));
    }
    split.fail_over();
    split.take(split.fresh);
    if (has_hung) {
      REQUIRE(wait_until([&] { return split.old.command({"PTTL", "job"}) == "-2"; }));
      split.old.command({"CLIENT", "UNPAUSE"});
    } else {
      split.old.command({"DEL", "job"});
      split.old.command({"PUBLISH", "redisson_lock__channel:{job}", "0"});
    }
    CHECK(wait_until([&] { return is_listened_to(split.fresh) || !waiter.out().empty(); }));
    CHECK(waiter.running());
    CHECK(waiter.out().empty());
    split.fresh.command({"DEL", "job"});
    split.fresh.command({"PUBLISH", "redisson_lock__channel:{job}", "0"});
    waiter.wait_for_stdout("got");
    CHECK(has_key(split.fresh, "job"));
    waiter.close_stdin();
    CHECK(waiter.wait().status == 0);
  }
}

TEST_CASE("sentinel: who waits takes nothing while no sentinel answers") {
  Stubborn split;
  split.take(split.old);
  Process waiter(argv_for(
      split.url, {"-v", "--timeout", "5s", "exec", "-w", "60s", "job", "--", "echo", "got"}));
  Process other(argv_for(
      split.url, {"-v", "--timeout", "5s", "exec", "-w", "60s", "job", "--", "echo", "got"}));
  const std::string channel = "redisson_lock__channel:{job}";
  REQUIRE(comes_to_wait(split.old, "job", 2));
  // What the sentinels have told half a second ago still counts.
  REQUIRE(wait_until([&] {
    const auto runs = connections_of_rlock(split.old);
    return std::none_of(runs.begin(), runs.end(), [](const std::string& run) {
      return has(run, " age=0 ") || has(run, " age=1 ");
    });
  }));
  for (std::size_t i : {0, 1, 2}) split.group.sentinel(i).pause();
  split.old.command({"DEL", "job"});
  split.old.command({"PUBLISH", channel, "0"});
  REQUIRE(wait_until([&] {
    for (Process* one : {&waiter, &other}) static_cast<void>(one->running());  // reads
    return has(waiter.err(), "no sentinel") || has(other.err(), "no sentinel");
  }));
  CAPTURE(waiter.err());
  CHECK(waiter.out().empty());
  CHECK(other.out().empty());
  for (std::size_t i : {0, 1, 2}) split.group.sentinel(i).resume();
  CHECK(waiter.wait().out == "got\n");
  CHECK(other.wait().out == "got\n");
  CHECK(!has_key(split.old, "job"));
}

TEST_CASE("sentinel: what a master of old has taken back is given back to the new one, too") {
  Stubborn split;
  Process holder(
      argv_for(split.url, {"--timeout", "60s", "exec", "--lease", "2m", "job", "--", "cat"}),
      {.hold_stdin = true});
  REQUIRE(wait_until([&] { return has_key(split.old, "job"); }));
  REQUIRE(split.old.is_replicated());
  split.old.command({"CLIENT", "PAUSE", "300000", "WRITE"});
  holder.close_stdin();
  REQUIRE(comes_to_be_paused(split.old));
  const Deadline is_slow(1s);
  split.fail_over();
  REQUIRE(has_key(split.fresh, "job"));
  REQUIRE(wait_until([&] { return is_slow.passed(); }));
  split.old.command({"CLIENT", "UNPAUSE"});
  CHECK(holder.wait().status == 0);
  CHECK(!has_key(split.fresh, "job"));
}
