// Locks that are broken by force: the waiters go on, and the holder is told.
#include <string>

#include <doctest/doctest.h>

#include "fleet.hpp"
#include "support/wait_until.hpp"

using namespace rlock::test;

namespace {

// How many scripts the server has run.
long scripts(const Server& server) {
  const std::string stats = server.command({"INFO", "commandstats"});
  const auto number = [&](const std::string& command, const std::string& what) {
    const std::size_t line = stats.find("cmdstat_" + command + ":");
    if (line == std::string::npos) return 0L;
    const std::size_t at = stats.find(what + "=", line);
    return std::stol(stats.substr(at + what.size() + 1));
  };
  return number("eval", "calls") + number("evalsha", "calls") - number("evalsha", "failed_calls");
}

}  // namespace

TEST_CASE_FIXTURE(Fleet, "rlock unlock --force takes a lock from Java and wakes a waiter of Java") {
  const Lock lock = lock_of_each_kind();
  JavaClient holder(java(), lock);
  REQUIRE(holder.gets_it());
  JavaClient waiter(java(), lock);
  REQUIRE(come_to_wait(lock));
  CHECK(rlock(lock, "unlock", {"--force", "-y"}).status == 0);
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
  CHECK(rlock(lock, "unlock", {"--force", "-y"}).status == 0);
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
  CHECK(rlock(lock, "unlock", {"--force", "-y"}).status == 0);
  take_turns({&java_waiter, &rlock_waiter});
}

TEST_CASE_FIXTURE(Fleet, "rlock unlock --force takes a read/write lock from Java and wakes Java") {
  const Lock read{"read", "job"};
  const Lock write{"write", "job"};
  Lock held;
  Lock wanted;
  SUBCASE("a reader's, for a writer") { held = read, wanted = write; }
  SUBCASE("a writer's, for a writer") { held = write, wanted = write; }
  SUBCASE("a writer's, for a reader") { held = write, wanted = read; }
  JavaClient holder(java(), held);
  REQUIRE(holder.gets_it());
  JavaClient waiter(java(), wanted);
  REQUIRE(come_to_wait(wanted));
  const std::string owner = holder.thread().owner();
  const Result broken = rlock(held, "unlock", {"--force", "-y"});
  CHECK(broken.status == 0);
  CHECK(broken.err.starts_with("rlock: job: taken from " + owner +
                               (held.kind == "read" ? ", a reader (" : ":write, the writer (")));
  REQUIRE(waiter.gets_it());
  CHECK(holder.thread().call("isHeld", held) == "false");
  waiter.release();
}

TEST_CASE_FIXTURE(Fleet, "rlock unlock --force takes all holds of all readers") {
  const Lock read{"read", "job"};
  const Lock write{"write", "job"};
  JavaClient first(java(), read);
  JavaClient second(java(), read);
  REQUIRE(first.gets_it());
  REQUIRE(second.gets_it());
  CHECK(first.thread().call("lock", read, {k_long_lease_ms}) == "true");
  JavaClient writer(java(), write);
  REQUIRE(come_to_wait(write));
  CHECK(rlock(read, "unlock", {"--force", "-y"}).status == 0);
  REQUIRE(writer.gets_it());
  writer.release();
}

TEST_CASE_FIXTURE(Fleet, "rlock unlock --force wakes Java, which sleeps on after a DEL by hand") {
  Lock lock{"", "job"};
  SUBCASE("plain") { lock.kind = "plain"; }
  SUBCASE("fair") { lock.kind = "fair"; }
  SUBCASE("read") { lock.kind = "read"; }
  SUBCASE("write") { lock.kind = "write"; }
  const Lock held{lock.kind == "read" ? "write" : lock.kind, lock.name};
  JavaClient holder(java(), held);
  REQUIRE(holder.gets_it());
  const long before = scripts(server());
  JavaClient waiter(java(), lock);
  // It asks again when it listens, and then sleeps for the lease that it saw: 10 minutes.
  REQUIRE(wait_until([&] { return scripts(server()) >= before + 2; }));
  REQUIRE(come_to_wait(lock));
  server().command({"DEL", lock.name});
  const Result woken = rlock(lock, "unlock", {"--force", "-y"});
  CHECK(woken.status == 1);
  CHECK(woken.err.starts_with("rlock: job: not held by anybody; woke its waiters, "));
  REQUIRE(waiter.gets_it());
  waiter.release();
}
