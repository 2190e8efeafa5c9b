// Sentinel: a master of old that still runs grants nothing that the new one has granted.
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <doctest/doctest.h>

#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/sentinels.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

using Words = std::vector<std::string>;

Words at(const std::string& url, const Words& more) {
  Words argv = rlock_argv("-r", url);
  argv.insert(argv.end(), more.begin(), more.end());
  return argv;
}

// Runs until its input ends, under "job".
Words cat(const std::string& url, const std::string& name, const std::string& lease) {
  return at(
      url, {"--timeout", "20s", "exec", "--lease", lease, name, "--", "sh", "-c", "echo got; cat"});
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool has_key(const Server& server, const std::string& key) {
  return server.command({"EXISTS", key}) == "1";
}

// A group whose first master stays one after a failover, as one that is cut off from the sentinels.
struct Stubborn {
  Sentinels group{{.first_args = {"--rename-command", "SLAVEOF", "no-slaveof", "--rename-command",
                                  "REPLICAOF", "no-replicaof"},
                   .sentinel_config = "sentinel failover-timeout mymaster 60000\n",
                   .down_after_ms = 600'000}};
  Server& old = group.server(0);
  Server& fresh = group.server(1);
  std::string url = group.url();

  void fail_over() {
    REQUIRE(wait_until([&] {
      return group.sentinel(0).command({"SENTINEL", "FAILOVER", Sentinels::k_master}) == "OK";
    }));
    REQUIRE(group.wait_for_master(fresh));
    REQUIRE(old.list({"ROLE"}).at(0) == "master");
  }

  // A service takes "job", for an hour.
  void take(Server& server) {
    server.command({"HSET", "job", "service:1", "1"});
    server.command({"PEXPIRE", "job", "3600000"});
  }
};

bool is_listened_to(const Server& server) {
  const std::string channel = "redisson_lock__channel:{job}";
  return server.command({"PUBSUB", "NUMSUB", channel}) == channel + "\n1";
}

// From now on a process can have one more descriptor, too few to ask anybody.
void leave_one_descriptor(pid_t pid) {
  rlim_t lowest = 0;
  const std::string folder = "/proc/" + std::to_string(pid) + "/fd/";
  while (std::filesystem::exists(std::filesystem::symlink_status(folder + std::to_string(lowest))))
    ++lowest;
  const rlimit limit{lowest + 1, lowest + 1};
  REQUIRE(::prlimit(pid, RLIMIT_NOFILE, &limit, nullptr) == 0);
}

// One sentinel was cut off before a failover, another was not; both masters run.
struct Split {
  Server old;
  Server fresh;
  std::unique_ptr<Server> stale = lone_sentinel(old, 1);
  std::unique_ptr<Server> sentinel = lone_sentinel(fresh, 5);
  std::string url = Sentinels::url_of({stale->port(), sentinel->port()});
};

}  // namespace

TEST_CASE("sentinel: while the new master hangs, the old one is not taken for it") {
  Split split;
  Process holder(cat(split.url, "job", "60s"), {.hold_stdin = true});
  holder.wait_for_stdout("got");
  CHECK(has_key(split.fresh, "job"));
  split.fresh.pause();
  const Result other = run(at(split.url, {"--timeout", "3s", "exec", "-n", "job", "--", "true"}));
  CAPTURE(other.err);
  CHECK(other.status == 69);
  CHECK(split.old.keys().empty());
  split.fresh.resume();
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
}

TEST_CASE("sentinel: one that is slow is waited for, where no majority has answered") {
  Split split;
  Proxy slow(split.sentinel->port());
  slow.set_delay(400ms);
  const std::string url = Sentinels::url_of({split.stale->port(), slow.port()});
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
  CHECK(wait_until([&] { return std::stol(split.fresh.command({"PTTL", "job"})) > 20000; }));
  CHECK(wait_until([&] { return !loser.running(); }));
  loser.close_stdin();
  CHECK(loser.wait().status == 79);
  CHECK(holder.running());
  CHECK(run(at(split.url, {"exec", "-n", "job", "--", "true"})).status == 75);
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
  CHECK(!has_key(split.fresh, "job"));
}

TEST_CASE("sentinel: what a master of old grants to one who waits is none") {
  for (const bool has_hung : {false, true}) {
    CAPTURE(has_hung);
    Stubborn split;
    split.take(split.old);
    REQUIRE(split.old.is_replicated());
    Process waiter(
        at(split.url, {"--timeout", "60s", "exec", "job", "--", "sh", "-c", "echo got; cat"}),
        {.hold_stdin = true});
    REQUIRE(wait_until([&] { return is_listened_to(split.old); }));
    if (has_hung) {
      // A request is under way while the failover happens; the lock ends meanwhile.
      split.old.command({"PEXPIRE", "job", "8000"});
      split.old.command({"CLIENT", "PAUSE", "300000", "WRITE"});
      REQUIRE(wait_until([&] {
        std::istringstream clients(split.old.command({"CLIENT", "LIST"}));
        for (std::string line; std::getline(clients, line);) {
          if (has(line, " name=rlock:") && has(line, " flags=b ")) return true;
        }
        return false;
      }));
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
  Process waiter(
      at(split.url, {"-v", "--timeout", "5s", "exec", "-w", "60s", "job", "--", "echo", "got"}));
  Process other(
      at(split.url, {"-v", "--timeout", "5s", "exec", "-w", "60s", "job", "--", "echo", "got"}));
  const std::string channel = "redisson_lock__channel:{job}";
  REQUIRE(wait_until([&] {
    return split.old.command({"PUBSUB", "NUMSUB", channel}) == channel + "\n2";
  }));
  // What the sentinels have told half a second ago still counts.
  REQUIRE(wait_until([&] {
    std::istringstream clients(split.old.command({"CLIENT", "LIST"}));
    for (std::string line; std::getline(clients, line);) {
      if (has(line, " name=rlock:") && (has(line, " age=0 ") || has(line, " age=1 "))) return false;
    }
    return true;
  }));
  for (std::size_t i : {0, 1, 2}) split.group.sentinel(i).pause();
  split.old.command({"DEL", "job"});
  split.old.command({"PUBLISH", channel, "0"});
  Process* first = nullptr;
  REQUIRE(wait_until([&] {
    for (Process* one : {&waiter, &other}) {
      static_cast<void>(one->running());
      if (has(one->err(), "no sentinel")) first = one;
    }
    return first != nullptr;
  }));
  CAPTURE(waiter.err());
  CHECK(waiter.out().empty());
  CHECK(other.out().empty());
  for (std::size_t i : {0, 1, 2}) split.group.sentinel(i).resume();
  CHECK(waiter.wait().out == "got\n");
  CHECK(other.wait().out == "got\n");
  CHECK(!has_key(split.old, "job"));
}

TEST_CASE("sentinel: who cannot ask them for want of descriptors does not renew for ever") {
  Stubborn split;
  Process holder(cat(split.url, "job", "6s"), {.hold_stdin = true});
  holder.wait_for_stdout("got");
  const auto left = [&] { return std::stol(split.old.command({"PTTL", "job"})); };
  REQUIRE(wait_until([&] { return left() < 5000; }));
  REQUIRE(wait_until([&] { return left() > 5000; }));  // its watchdog is at work
  leave_one_descriptor(holder.pid());
  split.fail_over();
  CHECK(wait_until([&] { return !holder.running(); }));
  holder.close_stdin();
  const Result result = holder.wait();
  CAPTURE(result.err);
  CHECK(result.status == 79);
}
