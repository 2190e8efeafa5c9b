// Permits of one semaphore, shared by Java and rlock.
#include <csignal>
#include <deque>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "fleet.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

const Lock k_lock{"semaphore", "job"};
const std::string k_permits = "{job}:timeout";

Words permits(int number, const std::string& lease = k_long_lease) {
  return {"--permits", std::to_string(number), "--lease", lease};
}

// A run of rlock that holds, or waits for, one of so many permits.
struct RlockHolder : RlockClient {
  RlockHolder(const Server& server, int number, const std::string& lease = k_long_lease)
      : RlockClient(server, k_lock, permits(number, lease)) {}
};

class Semaphore : public Fleet {
 protected:
  // The semaphore is a service's: what a test of one leaves.
  static void made_by_java(int number) {
    JavaThread thread(java());
    REQUIRE(thread.call("trySetPermits", k_lock, {number}) == "true");
  }
  static std::string available() { return JavaThread(java()).call("available", k_lock); }
  static std::string java_tries() {
    JavaThread thread(java());
    const std::string answer = thread.call("tryLock", k_lock);
    if (answer == "true") thread.call("unlock", k_lock);
    return answer;
  }
  static int rlock_tries(int number) {
    Words argv =
        exec_argv(server().unix_url(), k_lock, {"-n", "--permits", std::to_string(number)});
    argv.insert(argv.end(), {"--", "true"});
    return run(argv).status;
  }
  // What a service made stays forever; what rlock made does while Java listens, for a day.
  ~Semaphore() {
    CHECK(server().command({"EXISTS", k_permits}) == "0");
    server().command({"DEL", "job", "rlock_info:{job}"});
  }
};

}  // namespace

TEST_CASE_FIXTURE(Semaphore, "Java and rlock share the permits and wake each other") {
  bool is_of_java = false;
  SUBCASE("of a semaphore that Java made") { is_of_java = true; }
  SUBCASE("of one that rlock made") {}
  if (is_of_java) made_by_java(3);
  RlockHolder first(server(), 3);
  REQUIRE(first.gets_it());
  // As a service does that finds the semaphore there.
  CHECK(JavaThread(java()).call("trySetPermits", k_lock, {3}) == "false");
  CHECK(available() == "2");
  JavaClient second(java(), k_lock, -1);
  REQUIRE(second.gets_it());
  RlockHolder third(server(), 3);
  REQUIRE(third.gets_it());
  CHECK(available() == "0");
  CHECK(java_tries() == "false");
  CHECK(rlock_tries(3) == 75);
  const auto seen = inspect(k_lock);
  CHECK(seen["kind"] == "semaphore");
  CHECK(seen["holders"].size() == 3);
  CHECK(seen["permits"] == nlohmann::json({{"total", 3}, {"available", 0}}));
  const std::string permit = second.thread().call("permit", k_lock);
  CHECK(seen["holders"][2]["owner"] == permit);

  JavaClient waits_for_rlock(java(), k_lock, -1);
  REQUIRE(come_to_wait(k_lock));
  first.release();
  REQUIRE(waits_for_rlock.gets_it());
  CHECK(rlock_tries(3) == 75);
  RlockHolder waits_for_java(server(), 3);
  REQUIRE(come_to_wait(k_lock));
  CHECK(java_tries() == "false");
  second.release();
  REQUIRE(waits_for_java.gets_it());
  CHECK(java_tries() == "false");
  waits_for_rlock.release();
  CHECK(java_tries() == "true");
  CHECK(available() == "1");
  waits_for_java.release();
  third.release();
  if (is_of_java) {
    CHECK(server().command({"GET", "job"}) == "3");
    CHECK(server().command({"PTTL", "job"}) == "-1");
    CHECK(server().command({"EXISTS", "rlock_info:{job}"}) == "0");
    CHECK(rlock_tries(2) == 76);
    CHECK(rlock_tries(3) == 0);
  }
}

TEST_CASE_FIXTURE(Semaphore, "never more than N of Java and rlock have a permit at once") {
  made_by_java(3);
  std::deque<JavaThread> threads;
  std::deque<JavaCall> calls;
  for (int i = 0; i < 3; ++i) {
    calls.push_back(threads.emplace_back(java()).start("work", k_lock, {40}));
  }
  std::deque<Process> runs;
  for (int i = 0; i < 8; ++i) {
    Words argv = exec_argv(server().unix_url(), k_lock, permits(3));
    argv.insert(argv.end(), {"--", "sh", "-c",
                             "redis-cli -s \"$0\" incr running; redis-cli -s \"$0\" decr running",
                             server().unix_path()});
    runs.emplace_back(argv);
  }
  for (Process& one : runs) {
    const Result result = one.wait();
    CHECK(result.status == 0);
    CHECK(std::stoi(result.out) <= 3);
  }
  for (JavaCall& call : calls) CHECK(std::stoi(call.answer()) <= 3);
  CHECK(server().command({"GET", "job"}) == "3");
  server().command({"DEL", "running"});
}

TEST_CASE_FIXTURE(Semaphore, "a permit of the dead comes back with its lease, from either side") {
  RlockHolder kept(server(), 2);
  REQUIRE(kept.gets_it());
  bool dies_java = false;
  SUBCASE("Java dies, and rlock waits") { dies_java = true; }
  SUBCASE("rlock dies, and Java waits") {}
  if (dies_java) {
    Peer dying(server().tcp_url());
    JavaClient dead(dying, k_lock, 1500);
    REQUIRE(dead.gets_it());
    dying.kill();
    RlockHolder next(server(), 2);
    REQUIRE(next.gets_it());
    next.release();
  } else {
    RlockHolder dead(server(), 2, "1500ms");
    REQUIRE(dead.gets_it());
    JavaClient next(java(), k_lock, -1);
    REQUIRE(come_to_wait(k_lock));
    // Renewed: Java looks again at the end that it has seen, and goes on waiting.
    const auto end = [&] {
      return server().command({"ZRANGE", k_permits, "0", "0", "WITHSCORES"});
    };
    for (int renewals = 0; renewals < 4; ++renewals) {
      const std::string before = end();
      REQUIRE(wait_until([&] { return end() != before; }));
    }
    CHECK_FALSE(next.has_it());
    dead.process().signal(SIGKILL);
    REQUIRE(next.gets_it());
    next.release();
    expect_remains();
  }
  kept.release();
}

TEST_CASE_FIXTURE(Semaphore, "what Java does to its own permit leaves rlock's as it is") {
  RlockHolder ours(server(), 2);
  REQUIRE(ours.gets_it());
  const std::string owner = inspect(k_lock)["holders"][0]["owner"];
  const std::string end = server().command({"ZSCORE", k_permits, owner});
  JavaClient theirs(java(), k_lock, 5000);
  REQUIRE(theirs.gets_it());
  CHECK(theirs.thread().call("updateLeaseTime", k_lock, {k_long_lease_ms}) == "true");
  CHECK(server().command({"ZCARD", k_permits}) == "2");
  CHECK(rlock_tries(2) == 75);
  theirs.release();
  CHECK(server().command({"ZRANGE", k_permits, "0", "-1"}) == owner);
  CHECK(server().command({"ZSCORE", k_permits, owner}) == end);
  CHECK(available() == "1");
  ours.release();
}

TEST_CASE_FIXTURE(Semaphore, "Java has the last permit of what rlock made, and may keep it") {
  RlockHolder ours(server(), 1);
  REQUIRE(ours.gets_it());
  JavaClient theirs(java(), k_lock, -1);
  REQUIRE(come_to_wait(k_lock));
  ours.release();
  REQUIRE(theirs.gets_it());
  CHECK(rlock_tries(1) == 75);
  RlockHolder next(server(), 1);
  REQUIRE(come_to_wait(k_lock));
  theirs.release();
  REQUIRE(next.gets_it());
  next.release();
}

TEST_CASE_FIXTURE(Semaphore, "unlock --force takes the permits from both sides and wakes both") {
  RlockHolder ours(server(), 2);
  REQUIRE(ours.gets_it());
  JavaClient theirs(java(), k_lock, -1);
  REQUIRE(theirs.gets_it());
  const std::string permit = theirs.thread().call("permit", k_lock);
  JavaClient waits(java(), k_lock, -1);
  REQUIRE(come_to_wait(k_lock));
  const Result forced = rlock(k_lock, "unlock", {"--force", "--yes"});
  CHECK(forced.status == 0);
  CHECK(has(forced.err, "taken from " + permit));
  REQUIRE(waits.gets_it());
  CHECK(theirs.thread().call("unlock", k_lock).starts_with("error "));
  CHECK(available() == "1");
  ours.process().close_stdin();
  CHECK(ours.process().wait().status == 79);
  CHECK(available() == "1");
  waits.release();
  CHECK(rlock_tries(2) == 0);
}
