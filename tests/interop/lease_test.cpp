// Waits that end, leases that end, and watchdogs that do not let them.
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fleet.hpp"
#include "support/processes.hpp"
#include "support/wait_until.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

TEST_CASE_FIXTURE(Fleet, "Java's tryLock waits for rlock as long as it is told") {
  const Lock lock = lock_of_each_kind();
  RlockClient holder(server(), lock);
  REQUIRE(holder.gets_it());
  JavaThread thread(java());
  CHECK(thread.call("tryLock", lock) == "false");
  CHECK(thread.call("tryLock", lock, {0, -1}) == "false");
  CHECK(thread.call("tryLock", lock, {300, -1}) == "false");
  CHECK(thread.call("tryLock", lock, {300, k_long_lease_ms}) == "false");
  CHECK(come_to_wait(lock, 0));
  JavaCall call = thread.start("tryLock", lock, {k_long_lease_ms, k_long_lease_ms});
  REQUIRE(come_to_wait(lock));
  CHECK_FALSE(call.done());
  holder.release();
  CHECK(call.answer() == "true");
  CHECK(thread.call("unlock", lock) == "true");
}

TEST_CASE_FIXTURE(Fleet, "rlock waits for Java as long as it is told") {
  const Lock lock = lock_of_each_kind();
  JavaClient holder(java(), lock);
  REQUIRE(holder.gets_it());
  for (const char* wait : {"0", "300ms"}) {
    std::vector<std::string> argv = exec_argv(server().unix_url(), lock, {"-w", wait});
    argv.insert(argv.end(), {"--", "echo", "got"});
    const Result result = run(argv);
    CHECK(result.status == 75);
    CHECK(result.out.empty());
    CHECK(come_to_wait(lock, 0));
  }
  RlockClient waiter(server(), lock, {"-w", k_long_lease});
  REQUIRE(come_to_wait(lock));
  holder.release();
  REQUIRE(waiter.gets_it());
  waiter.release();
}

TEST_CASE_FIXTURE(Fleet, "a lease of Java ends by itself, and its late unlock harms nobody") {
  const Lock lock = lock_of_each_kind();
  JavaClient owner(java(), lock, 1500);
  REQUIRE(owner.gets_it());
  RlockClient next(server(), lock);
  REQUIRE(next.gets_it());
  CHECK(is_refusal(owner.thread().call("unlock", lock)));
  CHECK(owner.thread().call("isHeld", lock) == "false");
  CHECK(java_try(lock) == "false");
  CHECK(next.process().running());
  next.release();
}

TEST_CASE_FIXTURE(Fleet, "a lease of rlock ends by itself, and its late unlock harms nobody") {
  const Lock lock = lock_of_each_kind();
  std::vector<std::string> options{"--no-watchdog", "--lease", "6s"};
  if (lock.kind == "fair") options.emplace_back("--fair");
  const Result taken = rlock(lock, "acquire", options);
  REQUIRE(taken.status == 0);
  const std::string owner = taken.out.substr(0, taken.out.find('\n'));
  JavaClient next(java(), lock);
  REQUIRE(come_to_wait(lock));
  const std::unique_ptr<Client> behind = prompter(lock);
  REQUIRE(next.gets_it());
  CHECK(rlock(lock, "renew", {"--owner", owner}).status == 1);
  CHECK(rlock(lock, "unlock", {"--owner", owner}).status == 1);
  CHECK(next.thread().call("isHeld", lock) == "true");
  next.release();
  if (behind) {
    REQUIRE(behind->gets_it());
    behind->release();
  }
}

TEST_CASE_FIXTURE(Fleet, "Java learns from its unlock that its lease has ended") {
  const Lock lock = lock_of_each_kind();
  JavaClient owner(java(), lock, 300);
  REQUIRE(owner.gets_it());
  CHECK(wait_until([&] { return rlock_try(lock) == 0; }));
  const std::string answer = owner.thread().call("unlock", lock);
  if (lock.kind == "plain") {
    CHECK(is_refusal(answer));
  } else {
    // Redisson does not tell a fair lock that nobody holds from one that was released.
    CHECK(answer == "true");
  }
}

TEST_CASE_FIXTURE(Fleet,
                  "both watchdogs keep a lock for several leases, and no longer than the run") {
  const Lock of_java{"plain", "java"};
  const Lock of_fair_java{"fair", "fair java"};
  const Lock of_rlock{"plain", "rlock"};
  const std::vector<std::string> short_lease{"--lease", "5s"};
  Peer short_java(server().tcp_url(), {.watchdog = 5s});
  JavaClient java_holder(short_java, of_java, -1);
  JavaClient fair_holder(short_java, of_fair_java, -1);
  RlockClient rlock_holder(server(), of_rlock, short_lease);
  for (Client* holder : std::initializer_list<Client*>{&java_holder, &fair_holder, &rlock_holder}) {
    REQUIRE(holder->gets_it());
  }
  RlockClient behind_java(server(), of_java, short_lease);
  JavaClient behind_rlock(java(), of_rlock, -1);
  Renewals java_renewals(server(), of_java);
  Renewals fair_renewals(server(), of_fair_java);
  Renewals rlock_renewals(server(), of_rlock);
  CHECK(wait_until(
      [&] {
        const int java_count = java_renewals.count();
        const int fair_count = fair_renewals.count();
        const int rlock_count = rlock_renewals.count();
        return java_count >= 7 && fair_count >= 7 && rlock_count >= 7;
      },
      90s));
  CHECK(rlock_try(of_fair_java) == 75);
  CHECK_FALSE(behind_java.has_it());
  CHECK_FALSE(behind_rlock.has_it());

  // Gone without a word, both: the leases end.
  short_java.kill();
  rlock_holder.process().signal_group(SIGKILL);
  expect_remains();
  REQUIRE(behind_java.gets_it());
  REQUIRE(behind_rlock.gets_it());
  CHECK(wait_until([&] { return server().command({"EXISTS", of_fair_java.name}) == "0"; }));
  behind_java.release();
  behind_rlock.release();
}
