// Fair locks: leases that nobody renews, dead waiters in a row, and the deadlines of a busy queue.
#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fleet.hpp"
#include "support/wait_until.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

const Lock k_lock{"fair", "job"};

class LapseFleet : public Fleet {
 protected:
  // No deadline is later than now, the lease, the waits before it and its own; and a second.
  static void check_deadlines() {
    const auto members = server().list(
        {"EVAL",
         "local found = {redis.call('time')[1]} "
         "for _, member in ipairs(redis.call('lrange', KEYS[1], 0, -1)) do "
         "found[#found + 1] = member "
         "found[#found + 1] = redis.call('zscore', KEYS[2], member) or '0' end return found",
         "2", k_lock.queue(), k_lock.deadlines()});
    long long latest = std::stoll(members.at(0)) * 1000 + 30'000 + 2'000;
    for (std::size_t i = 1; i + 1 < members.size(); i += 2) {
      const bool is_javas = members[i].rfind(java().uuid(), 0) == 0;
      latest += is_javas ? 300'000 : 15'000;
      CAPTURE(members[i]);
      CHECK(std::stoll(members[i + 1]) <= latest);
    }
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fleet, "rlock comes when the lease of the waiter of Java before it has lapsed") {
  JavaClient holder(java(), k_lock);
  REQUIRE(holder.gets_it());
  JavaThread brief(java());
  JavaCall call = brief.start("tryLock", k_lock, {30'000, 1'000});
  REQUIRE(come_to_wait(k_lock));
  RlockClient behind(server(), k_lock);
  REQUIRE(come_to_wait(k_lock, 2));
  REQUIRE(wait_until([] { return server().command({"PUBSUB", "NUMPAT"}) == "1"; }));
  const Clock::time_point start = Clock::now();
  holder.release();
  CHECK(call.answer() == "true");
  REQUIRE(behind.gets_it());
  CHECK(Clock::now() - start < 4s);  // who does not know of the lease comes after 5 s
  behind.release();
}

TEST_CASE_FIXTURE(
    Fleet, "eight of Java and rlock, each with a lease of a second that lapses, all get in") {
  JavaClient holder(java(), k_lock);
  REQUIRE(holder.gets_it());
  std::deque<JavaThread> threads;
  std::vector<JavaCall> calls;
  std::deque<Process> ours;
  for (long i = 1; i <= 8; i += 2) {
    calls.push_back(threads.emplace_back(java()).start("tryLock", k_lock, {20'000, 1'000}));
    REQUIRE(come_to_wait(k_lock, i));
    ours.emplace_back(rlock_argv("acquire", "--fair", "-w", "20s", "--lease", "1s", "--no-watchdog",
                                 "-r", server().unix_url(), k_lock.name));
    REQUIRE(come_to_wait(k_lock, i + 1));
  }
  holder.release();
  for (JavaCall& call : calls) CHECK(call.answer() == "true");
  for (Process& process : ours) CHECK(process.wait().status == 0);
  CHECK(wait_until([] { return server().command({"EXISTS", k_lock.name}) == "0"; }));
  expect_remains();
}

TEST_CASE_FIXTURE(Fleet, "rlock passes by five waiters of a dead JVM as by one") {
  Peer dying(server().tcp_url());
  JavaClient holder(java(), k_lock);
  REQUIRE(holder.gets_it());
  std::deque<JavaClient> dead;
  for (long i = 1; i <= 5; ++i) {
    dead.emplace_back(dying, k_lock);
    REQUIRE(come_to_wait(k_lock, i));
  }
  RlockClient behind(server(), k_lock);
  REQUIRE(come_to_wait(k_lock, 6));
  dying.kill();
  const Clock::time_point start = Clock::now();
  holder.release();
  REQUIRE(behind.gets_it());
  CHECK(Clock::now() - start < 15s);  // 8 s are the least, for one
  behind.release();
}

TEST_CASE_FIXTURE(LapseFleet, "deadlines do not drift where Java and rlock come and go") {
  JavaThread one(java());
  JavaThread other(java());
  std::vector<JavaCall> counts = {one.count(k_lock, "number", 200),
                                  other.count(k_lock, "number", 200)};
  const std::string loop = "i=0; while [ $i -lt 60 ]; do \"$@\" || exit; i=$((i + 1)); done";
  std::deque<Process> loops;
  for (int i = 0; i < 3; ++i) {
    std::vector<std::string> argv = {"sh", "-c", loop, "sh"};
    for (const std::string& word : exec_argv(server().unix_url(), k_lock, {})) argv.push_back(word);
    argv.insert(argv.end(), {"--", "true"});
    loops.emplace_back(argv);
  }
  while (loops[0].running() || !counts[0].done()) check_deadlines();
  for (Process& process : loops) CHECK(process.wait().status == 0);
  for (JavaCall& call : counts) CHECK(call.answer() != "");
  server().command({"DEL", "number"});
}
