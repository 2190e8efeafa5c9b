// Fair locks: waiters that give up, are interrupted, or stand still.
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fleet.hpp"
#include "support/wait_until.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

const Lock k_lock{"fair", "job"};

// A fifth of the time that Redisson leaves a dead waiter its place.
constexpr auto k_soon = 60s;

class LeftFleet : public Fleet {
 protected:
  // How many scripts the server has run.
  static long scripts() {
    long count = 0;
    const std::string stats = server().command({"INFO", "commandstats"});
    for (const std::string key : {"cmdstat_eval:calls=", "cmdstat_evalsha:calls="}) {
      const std::size_t at = stats.find(key);
      if (at != std::string::npos) count += std::stol(stats.substr(at + key.size()));
    }
    return count;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fleet, "a waiter of Java that times out lets rlock pass") {
  JavaClient holder(java(), k_lock);
  REQUIRE(holder.gets_it());
  JavaThread thread(java());
  JavaCall call = thread.start("tryLock", k_lock, {6000, -1});
  REQUIRE(come_to_wait(k_lock));
  RlockClient behind(server(), k_lock);
  REQUIRE(come_to_wait(k_lock, 2));
  CHECK(call.answer() == "false");
  REQUIRE(come_to_wait(k_lock, 1));
  CHECK(deadlines(k_lock) == queue(k_lock));
  holder.release();
  REQUIRE(behind.gets_it());
  behind.release();
}

TEST_CASE_FIXTURE(LeftFleet,
                  "rlock waits for seconds behind waiters of Java that were interrupted") {
  // Redisson leaves them in the queue, though the JVM lives.
  JavaClient holder(java(), k_lock);
  REQUIRE(holder.gets_it());
  JavaThread first(java());
  JavaThread second(java());
  // Once it has asked, subscribed and asked again, it sleeps. (Interrupted before that, Redisson
  // goes on to listen for it, so that to all others it lives.)
  const auto sleeps = [&, before = scripts()](JavaThread& thread, long questions) {
    return wait_until([&] {
      return scripts() >= before + questions &&
             server()
                 .command({"PUBSUB", "NUMSUB", k_lock.channel() + ":" + thread.owner()})
                 .ends_with("\n1");
    });
  };
  JavaCall first_call = first.start("lockInterruptibly", k_lock, {k_long_lease_ms});
  REQUIRE(sleeps(first, 2));
  JavaCall second_call = second.start("tryLock", k_lock, {k_long_lease_ms, k_long_lease_ms});
  REQUIRE(sleeps(second, 4));
  first.interrupt();
  second.interrupt();
  CHECK(first_call.answer().starts_with("error InterruptedException"));
  CHECK(second_call.answer().starts_with("error InterruptedException"));
  RlockClient behind(server(), k_lock);
  REQUIRE(come_to_wait(k_lock, 3));
  holder.release();
  REQUIRE(behind.gets_it(k_soon));
  behind.release();
}

TEST_CASE_FIXTURE(Fleet, "a waiter of rlock that gives up leaves nothing and lets Java pass") {
  RlockClient holder(server(), k_lock);
  REQUIRE(holder.gets_it());
  RlockClient impatient(server(), k_lock, {"-w", "6s"});
  REQUIRE(come_to_wait(k_lock));
  RlockClient ended(server(), k_lock);
  REQUIRE(come_to_wait(k_lock, 2));
  JavaClient behind(java(), k_lock);
  REQUIRE(come_to_wait(k_lock, 3));
  RlockClient last(server(), k_lock);
  REQUIRE(come_to_wait(k_lock, 4));
  const std::vector<std::string> all = queue(k_lock);
  ended.process().signal(SIGTERM);
  CHECK(ended.process().wait().status == 128 + SIGTERM);
  CHECK(impatient.process().wait().status == 75);
  CHECK(queue(k_lock).size() == 2);
  CHECK(queue(k_lock)[0] == behind.thread().owner());
  CHECK(deadlines(k_lock).size() == 2);
  CHECK(server().command({"HEXISTS", "rlock_info:{job}", all[0]}) == "0");
  CHECK(server().command({"HEXISTS", "rlock_info:{job}", all[1]}) == "0");
  // The lease goes on for minutes: Java is told.
  holder.release();
  REQUIRE(behind.gets_it());
  CHECK_FALSE(last.has_it());
  behind.release();
  REQUIRE(last.gets_it());
  last.release();
}

TEST_CASE_FIXTURE(Fleet, "a waiter of rlock that stood still for long does not hold Java up") {
  RlockClient holder(server(), k_lock, {"--lease", "5s"});
  REQUIRE(holder.gets_it());
  RlockClient stopped(server(), k_lock);
  REQUIRE(come_to_wait(k_lock));
  JavaClient behind(java(), k_lock);
  REQUIRE(come_to_wait(k_lock, 2));
  stopped.process().signal(SIGSTOP);
  const std::unique_ptr<Client> last = prompter(k_lock);
  if (last) REQUIRE(come_to_wait(k_lock, 3));
  holder.release();
  REQUIRE(behind.gets_it(k_soon));
  stopped.process().signal(SIGCONT);
  // It comes back for its turn, not into the hold of another.
  REQUIRE(come_to_wait(k_lock, last ? 2 : 1));
  CHECK_FALSE(stopped.has_it());
  behind.release();
  std::vector<Client*> rest{&stopped};
  if (last) rest.push_back(last.get());
  take_turns(rest);
}
