// Locks that are broken by force: the waiters go on, and the holder is told.
#include <string>

#include <doctest/doctest.h>

#include "fleet.hpp"

using namespace rlock::test;

TEST_CASE_FIXTURE(Fleet, "rlock unlock --force takes a lock from Java and wakes a waiter of Java") {
  const Lock lock = lock_of_each_kind();
  JavaClient holder(java(), lock);
  REQUIRE(holder.gets_it());
  JavaClient waiter(java(), lock);
  REQUIRE(come_to_wait(lock));
  CHECK(rlock(lock, "unlock", {"--force"}).status == 0);
  REQUIRE(waiter.gets_it());
  CHECK(holder.thread().call("isHeld", lock) == "false");
  CHECK(is_refusal(holder.thread().call("unlock", lock)));
  CHECK(rlock_try(lock) == 75);
  waiter.release();
}

TEST_CASE_FIXTURE(Fleet,
                  "rlock unlock --force takes a lock from rlock and wakes a waiter of Java") {
  const Lock lock = lock_of_each_kind();
  RlockClient holder(server(), lock);
  REQUIRE(holder.gets_it());
  JavaClient waiter(java(), lock);
  REQUIRE(come_to_wait(lock));
  CHECK(rlock(lock, "unlock", {"--force"}).status == 0);
  REQUIRE(waiter.gets_it());
  // What rlock gives back at its end is not its own any more.
  holder.process().close_stdin();
  CHECK(holder.process().wait().status == 79);
  CHECK(waiter.thread().call("isHeld", lock) == "true");
  waiter.release();
}

TEST_CASE_FIXTURE(Fleet, "forceUnlock takes a lock from Java and wakes a waiter of rlock") {
  const Lock lock = lock_of_each_kind();
  JavaClient holder(java(), lock);
  REQUIRE(holder.gets_it());
  RlockClient waiter(server(), lock);
  REQUIRE(come_to_wait(lock));
  JavaThread thread(java());
  CHECK(thread.call("forceUnlock", lock) == "true");
  REQUIRE(waiter.gets_it());
  CHECK(is_refusal(holder.thread().call("unlock", lock)));
  CHECK(waiter.process().running());
  waiter.release();
  CHECK(thread.call("forceUnlock", lock) == "false");
}

TEST_CASE_FIXTURE(Fleet, "forceUnlock ends a command that rlock runs, with status 79") {
  const Lock lock = lock_of_each_kind();
  RlockClient holder(server(), lock, {"--lease", "6s"});
  REQUIRE(holder.gets_it());
  JavaClient java_waiter(java(), lock);
  REQUIRE(come_to_wait(lock));
  RlockClient rlock_waiter(server(), lock);
  REQUIRE(come_to_wait(lock, 2));
  JavaThread thread(java());
  CHECK(thread.call("forceUnlock", lock) == "true");
  const Result lost = holder.process().wait();
  CHECK(lost.status == 79);
  CHECK(lost.err.starts_with("rlock: job: "));
  take_turns({&java_waiter, &rlock_waiter});
}

TEST_CASE_FIXTURE(Fleet, "rlock unlock --force lets both sides have their turn") {
  const Lock lock = lock_of_each_kind();
  JavaClient holder(java(), lock);
  REQUIRE(holder.gets_it());
  JavaClient java_waiter(java(), lock);
  REQUIRE(come_to_wait(lock));
  RlockClient rlock_waiter(server(), lock);
  REQUIRE(come_to_wait(lock, 2));
  CHECK(rlock(lock, "unlock", {"--force"}).status == 0);
  take_turns({&java_waiter, &rlock_waiter});
}
