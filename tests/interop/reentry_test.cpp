// Hold counts, and who may give a lock back.
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "fleet.hpp"
#include "support/foreign_owner.hpp"

using namespace rlock::test;

TEST_CASE_FIXTURE(Fleet, "Java re-enters its own lock, and rlock counts with it") {
  const Lock lock = lock_of_each_kind();
  JavaThread thread(java());
  for (int count = 1; count <= 3; ++count) {
    CHECK(thread.call("lock", lock, {k_long_lease_ms}) == "true");
    const nlohmann::json seen = inspect(lock);
    CHECK(seen["state"] == "held");
    REQUIRE(seen["holders"].size() == 1);
    CHECK(seen["holders"][0]["owner"] == thread.owner());
    CHECK(seen["holders"][0]["count"] == count);
    CHECK(seen["holders"][0]["mode"] == "exclusive");
    CHECK(seen["raw"]["hash"] == nlohmann::json{{thread.owner(), std::to_string(count)}});
    CHECK(seen["problems"].empty());
  }
  for (int count = 3; count >= 1; --count) {
    CHECK(thread.call("holdCount", lock) == std::to_string(count));
    CHECK(rlock_try(lock) == 75);
    CHECK(thread.call("unlock", lock) == "true");
  }
  CHECK(inspect(lock)["state"] == "free");
  CHECK(rlock_try(lock) == 0);
}

TEST_CASE_FIXTURE(Fleet, "rlock re-enters its own lock, and Java sees it held to the end") {
  const Lock lock = lock_of_each_kind();
  const std::string nested = lock.kind == "fair" ? "\"$0\" exec --fair" : "\"$0\" exec";
  std::vector<std::string> argv = exec_argv(server().unix_url(), lock, {"--lease", k_long_lease});
  argv.insert(argv.end(),
              {"--", "sh", "-c",
               nested + " -r \"$1\" \"$2\" -- sh -c 'echo inner $RLOCK_OWNER; read -r line' && "
                        "echo outer && read -r line",
               rlock_program(), server().unix_url(), lock.name});
  Process outer(argv, {.hold_stdin = true});
  outer.wait_for_stdout("inner");

  JavaThread thread(java());
  const auto check_held = [&](int count) {
    CHECK(thread.call("isLocked", lock) == "true");
    CHECK(thread.call("isHeld", lock) == "false");
    CHECK(thread.call("holdCount", lock) == "0");
    CHECK(thread.call("tryLock", lock) == "false");
    CHECK(std::stol(thread.call("ttl", lock)) > k_long_lease_ms / 2);
    const nlohmann::json seen = inspect(lock);
    REQUIRE(seen["holders"].size() == 1);
    CHECK(seen["holders"][0]["count"] == count);
    CHECK(outer.out().starts_with("inner " + seen["holders"][0]["owner"].get<std::string>()));
  };
  check_held(2);
  outer.write_stdin("\n");
  outer.wait_for_stdout("outer");
  check_held(1);
  outer.write_stdin("\n");
  CHECK(outer.wait().status == 0);
  CHECK(thread.call("isLocked", lock) == "false");
  CHECK(thread.call("tryLock", lock) == "true");
  CHECK(thread.call("unlock", lock) == "true");
}

TEST_CASE_FIXTURE(Fleet, "only the owner can unlock: neither another thread, JVM nor rlock") {
  const Lock lock = lock_of_each_kind();
  JavaThread owner(java());
  JavaThread thread(java());
  Peer other_java(server().tcp_url());
  JavaThread stranger(other_java);
  {
    CAPTURE("a lock of Java");
    CHECK(owner.call("lock", lock, {k_long_lease_ms}) == "true");
    CHECK(is_refusal(thread.call("unlock", lock)));
    CHECK(is_refusal(stranger.call("unlock", lock)));
    CHECK(rlock(lock, "unlock", {"--owner", k_foreign_owner}).status == 1);
    CHECK(rlock(lock, "renew", {"--owner", k_foreign_owner}).status == 1);
    CHECK(owner.call("isHeld", lock) == "true");
    CHECK(thread.call("isHeld", lock) == "false");
    CHECK(owner.call("unlock", lock) == "true");
  }
  {
    CAPTURE("a lock of rlock");
    RlockClient holder(server(), lock);
    REQUIRE(holder.gets_it());
    CHECK(is_refusal(thread.call("unlock", lock)));
    CHECK(is_refusal(stranger.call("unlock", lock)));
    CHECK(rlock(lock, "unlock", {"--owner", k_foreign_owner}).status == 1);
    CHECK(rlock(lock, "renew", {"--owner", k_foreign_owner}).status == 1);
    CHECK(rlock_try(lock) == 75);
    holder.release();
  }
}

TEST_CASE_FIXTURE(Fleet,
                  "rlock can renew and release for an owner it is told, also a Java thread") {
  const Lock lock = lock_of_each_kind();
  JavaThread owner(java());
  CHECK(owner.call("lock", lock, {k_long_lease_ms}) == "true");
  CHECK(owner.call("lock", lock, {k_long_lease_ms}) == "true");
  CHECK(rlock(lock, "renew", {"--owner", owner.owner(), "--lease", "20m"}).status == 0);
  CHECK(std::stol(owner.call("ttl", lock)) > k_long_lease_ms);
  JavaClient waiter(java(), lock);
  REQUIRE(come_to_wait(lock));
  CHECK(rlock(lock, "unlock", {"--owner", owner.owner()}).status == 0);
  CHECK(owner.call("holdCount", lock) == "1");
  CHECK_FALSE(waiter.has_it());
  CHECK(rlock(lock, "unlock", {"--owner", owner.owner()}).status == 0);
  REQUIRE(waiter.gets_it());
  CHECK(is_refusal(owner.call("unlock", lock)));
  waiter.release();
}

TEST_CASE_FIXTURE(Fleet, "a lock taken by rlock acquire excludes Java until rlock unlock") {
  const Lock lock = lock_of_each_kind();
  std::vector<std::string> options{"--no-watchdog", "--lease", k_long_lease};
  if (lock.kind == "fair") options.emplace_back("--fair");
  const Result taken = rlock(lock, "acquire", options);
  REQUIRE(taken.status == 0);
  const std::string owner = taken.out.substr(0, taken.out.find('\n'));
  CHECK(java_try(lock) == "false");
  JavaClient waiter(java(), lock);
  REQUIRE(come_to_wait(lock));
  CHECK(rlock(lock, "unlock", {"--owner", owner}).status == 0);
  REQUIRE(waiter.gets_it());
  CHECK(rlock(lock, "unlock", {"--owner", owner}).status == 1);
  CHECK(rlock_try(lock) == 75);
  waiter.release();
}
