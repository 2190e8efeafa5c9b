// Fair locks: waiters and holders that are killed.
#include <chrono>
#include <csignal>
#include <initializer_list>
#include <memory>

#include <doctest/doctest.h>

#include "fleet.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

const Lock k_lock{"fair", "job"};

// A fifth of the time that Redisson leaves a dead waiter its place.
constexpr auto k_soon = 60s;

}  // namespace

TEST_CASE_FIXTURE(Fleet, "rlock waits for seconds, not for minutes, behind waiters of a dead JVM") {
  const Lock of_java{"fair", "java"};
  const Lock of_rlock{"fair", "rlock"};
  JavaClient java_holder(java(), of_java);
  RlockClient rlock_holder(server(), of_rlock);
  REQUIRE(java_holder.gets_it());
  REQUIRE(rlock_holder.gets_it());
  Peer dying(server().tcp_url());
  JavaClient first(dying, of_java);
  JavaClient second(dying, of_rlock);
  REQUIRE(come_to_wait(of_java));
  REQUIRE(come_to_wait(of_rlock));
  JavaClient third(dying, of_rlock);
  REQUIRE(come_to_wait(of_rlock, 2));
  RlockClient behind_java(server(), of_java);
  RlockClient behind_rlock(server(), of_rlock);
  REQUIRE(come_to_wait(of_java, 2));
  REQUIRE(come_to_wait(of_rlock, 3));
  JavaClient last(java(), of_java);
  REQUIRE(come_to_wait(of_java, 3));
  dying.kill();
  java_holder.release();
  rlock_holder.release();
  REQUIRE(behind_java.gets_it(k_soon));
  REQUIRE(behind_rlock.gets_it(k_soon));
  behind_java.release();
  behind_rlock.release();
  REQUIRE(last.gets_it());
  last.release();
}

TEST_CASE_FIXTURE(Fleet, "a dead JVM in the midst of the queue does not hold up who is behind") {
  RlockClient holder(server(), k_lock);
  REQUIRE(holder.gets_it());
  JavaClient head(java(), k_lock);
  REQUIRE(come_to_wait(k_lock));
  Peer dying(server().tcp_url());
  JavaClient dead(dying, k_lock);
  REQUIRE(come_to_wait(k_lock, 2));
  RlockClient behind(server(), k_lock);
  REQUIRE(come_to_wait(k_lock, 3));
  dying.kill();
  holder.release();
  REQUIRE(head.gets_it());
  CHECK_FALSE(behind.has_it());
  head.release();
  REQUIRE(behind.gets_it(k_soon));
  behind.release();
}

TEST_CASE_FIXTURE(Fleet, "Java gets on when the waiter of rlock before it was killed") {
  // Java looks again only when the lease that it saw has ended.
  RlockClient holder(server(), k_lock, {"--lease", "5s"});
  REQUIRE(holder.gets_it());
  RlockClient dead(server(), k_lock);
  REQUIRE(come_to_wait(k_lock));
  JavaClient behind(java(), k_lock);
  REQUIRE(come_to_wait(k_lock, 2));
  dead.process().signal_group(SIGKILL);
  CHECK(dead.process().wait().status == 128 + SIGKILL);
  expect_remains();
  const std::unique_ptr<Client> last = prompter(k_lock);
  holder.release();
  REQUIRE(behind.gets_it(k_soon));
  behind.release();
  if (last) {
    REQUIRE(last->gets_it());
    last->release();
  }
}

TEST_CASE_FIXTURE(Fleet, "a lock whose holder is killed goes to the head of the queue") {
  const Lock of_java{"fair", "java"};
  const Lock of_rlock{"fair", "rlock"};
  Peer dying(server().tcp_url(), {.watchdog = 5s});
  JavaClient java_holder(dying, of_java, -1);
  RlockClient rlock_holder(server(), of_rlock, {"--lease", "5s"});
  REQUIRE(java_holder.gets_it());
  REQUIRE(rlock_holder.gets_it());
  RlockClient behind_java(server(), of_java);
  JavaClient behind_rlock(java(), of_rlock);
  REQUIRE(come_to_wait(of_java));
  REQUIRE(come_to_wait(of_rlock));
  JavaClient java_last(java(), of_java);
  RlockClient rlock_last(server(), of_rlock);
  REQUIRE(come_to_wait(of_java, 2));
  REQUIRE(come_to_wait(of_rlock, 2));
  dying.kill();
  rlock_holder.process().signal_group(SIGKILL);
  expect_remains();
  REQUIRE(behind_java.gets_it(k_soon));
  REQUIRE(behind_rlock.gets_it(k_soon));
  CHECK_FALSE(java_last.has_it());
  CHECK_FALSE(rlock_last.has_it());
  behind_java.release();
  behind_rlock.release();
  REQUIRE(java_last.gets_it());
  REQUIRE(rlock_last.gets_it());
  java_last.release();
  rlock_last.release();
}

TEST_CASE_FIXTURE(Fleet, "a queue does not expire while Java waits in it") {
  // As long as only rlock waits, the queue may have an expiry.
  RlockClient holder(server(), k_lock, {"--lease", "5s"});
  REQUIRE(holder.gets_it());
  JavaClient head(java(), k_lock);
  REQUIRE(come_to_wait(k_lock));
  RlockClient second(server(), k_lock);
  REQUIRE(come_to_wait(k_lock, 2));
  holder.process().signal_group(SIGKILL);
  expect_remains();
  REQUIRE(head.gets_it(k_soon));
  JavaClient third(java(), k_lock);
  REQUIRE(come_to_wait(k_lock, 2));
  RlockClient last(server(), k_lock);
  REQUIRE(come_to_wait(k_lock, 3));
  CHECK(pttl(server(), k_lock.queue()) > 86'000'000);
  CHECK(pttl(server(), k_lock.deadlines()) > 86'000'000);
  head.release();
  for (Client* next : std::initializer_list<Client*>{&second, &third, &last}) {
    REQUIRE(next->gets_it());
    next->release();
  }
}
