// Fencing tokens: rlock's and those of Redisson's RFencedLock are one sequence.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fleet.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

const Lock k_lock{"fenced", "job"};

class FencedFleet : public Fleet {
 public:
  FencedFleet() = default;
  FencedFleet(const FencedFleet&) = delete;
  FencedFleet& operator=(const FencedFleet&) = delete;
  ~FencedFleet() { server().command({"DEL", k_lock.token()}); }

 protected:
  // False for an old Redisson, which has no RFencedLock.
  static bool has_fenced() {
    const std::string answer = JavaThread(java()).call("isLocked", k_lock);
    if (answer.starts_with("error NoSuchMethodException") && !java().has_fair_wait()) return false;
    REQUIRE(answer == "false");
    return true;
  }

  static std::string java_token(JavaThread& thread) {
    const std::string token = thread.call("lockAndGetToken", k_lock);
    CHECK_FALSE(token.starts_with("error"));
    CHECK(server().command({"GET", k_lock.token()}) == token);
    return token;
  }

  static std::string rlock_token(const Words& options = {"--fence"}) {
    Words argv = exec_argv(server().unix_url(), k_lock, options);
    argv.insert(argv.end(), {"--", "sh", "-c", "printf %s \"$RLOCK_TOKEN\""});
    const Result result = run(argv);
    CAPTURE(result.err);
    CHECK(result.status == 0);
    CHECK(server().command({"GET", k_lock.token()}) == result.out);
    return result.out;
  }

  static int check(const std::string& token) {
    return run(rlock_argv("fence", "-q", "-r", server().unix_url(), k_lock.name, token)).status;
  }
};

}  // namespace

TEST_CASE_FIXTURE(FencedFleet, "tokens of both sides grow when they alternate") {
  if (!has_fenced()) return;
  JavaThread thread(java());
  std::string before;
  SUBCASE("from nothing") { before = "0"; }
  SUBCASE("beyond what a double can tell apart") { before = "9007199254740992"; }
  if (before != "0") server().command({"SET", k_lock.token(), before});
  for (int round = 0; round < 5; ++round) {
    const std::string mine = rlock_token();
    CHECK(std::stoll(mine) > std::stoll(before));
    const std::string javas = java_token(thread);
    CHECK(std::stoll(javas) == std::stoll(mine) + 1);
    CHECK(check(mine) == 1);
    CHECK(check(javas) == 0);
    CHECK(rlock_try(k_lock) == 75);
    CHECK(thread.call("unlock", k_lock) == "true");
    before = javas;
  }
  CHECK(server().command({"TTL", k_lock.token()}) == "-1");
}

TEST_CASE_FIXTURE(FencedFleet, "who waits for the other side has a higher token than it") {
  if (!has_fenced()) return;
  JavaThread thread(java());
  const std::string first = java_token(thread);
  Words argv = exec_argv(server().unix_url(), k_lock, {"--fence", "--lease", k_long_lease});
  argv.insert(argv.end(), {"--", "sh", "-c", "echo \"$RLOCK_TOKEN\"; cat > /dev/null"});
  Process rlock(argv, {.hold_stdin = true});
  REQUIRE(come_to_wait(k_lock));
  CHECK(thread.call("unlock", k_lock) == "true");
  rlock.wait_for_stdout("\n");
  CHECK(std::stoll(rlock.out()) > std::stoll(first));
  CHECK(check(first) == 1);

  JavaCall waiting = thread.start("lockAndGetToken", k_lock);
  REQUIRE(come_to_wait(k_lock));
  CHECK_FALSE(waiting.done());
  rlock.close_stdin();
  CHECK(rlock.wait().status == 0);
  CHECK(std::stoll(waiting.answer()) > std::stoll(rlock.out()));
  CHECK(thread.call("unlock", k_lock) == "true");
}

TEST_CASE_FIXTURE(FencedFleet, "a thread that re-enters draws a token of its own") {
  if (!has_fenced()) return;
  JavaThread thread(java());
  const std::string outer = java_token(thread);
  const std::string inner = java_token(thread);
  CHECK(std::stoll(inner) == std::stoll(outer) + 1);
  CHECK(check(outer) == 1);
  CHECK(thread.call("unlock", k_lock) == "true");
  CHECK(thread.call("unlock", k_lock) == "true");
  CHECK(std::stoll(rlock_token()) > std::stoll(inner));
}
