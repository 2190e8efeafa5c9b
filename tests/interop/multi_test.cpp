// Redisson's MultiLock and `rlock exec` with several names exclude each other.
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fleet.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

const Lock k_multi{"multi", "c,b,a"};  // rlock takes them in the order a, b, c
const Lock k_middle{"plain", "b"};

Words exec(const Server& server, const Words& rest) {
  return rlock_argv("exec", "-r", server.unix_url(), "--lease", k_long_lease, rest);
}

const Words k_until_told = {"a", "b", "c", "--", "sh", "-c", "echo got; read x; true"};

std::string holder(const Server& server, const std::string& name) {
  return server.command({"HKEYS", name});
}

}  // namespace

TEST_CASE_FIXTURE(Fleet,
                  "a MultiLock excludes exec with the same names, and its release wakes it") {
  JavaThread thread(java());
  REQUIRE(thread.call("lock", k_multi, {k_long_lease_ms}) == "true");
  CHECK(run(exec(server(), {"-n", "a", "b", "c", "--", "true"})).status == 75);
  CHECK(run(exec(server(), {"-n", "d", "b", "--", "true"})).status == 75);
  for (const std::string name : {"a", "b", "c"}) CHECK(holder(server(), name) == thread.owner());
  Process waiter(exec(server(), k_until_told), {.hold_stdin = true});
  REQUIRE(come_to_wait({"plain", "a"}));
  CHECK(thread.call("unlock", k_multi) == "true");
  waiter.wait_for_stdout("got");
  for (const std::string name : {"a", "b", "c"}) CHECK(holder(server(), name) != thread.owner());
  waiter.close_stdin();
  CHECK(waiter.wait().status == 0);
}

TEST_CASE_FIXTURE(Fleet, "exec with several names excludes a MultiLock, and its end wakes it") {
  Process holding(exec(server(), k_until_told), {.hold_stdin = true});
  holding.wait_for_stdout("got");
  JavaThread thread(java());
  CHECK(thread.call("tryLock", k_multi) == "false");
  JavaCall waiting = thread.start("lock", k_multi, {k_long_lease_ms});
  REQUIRE(come_to_wait({"plain", "c"}));
  CHECK_FALSE(waiting.done());
  holding.close_stdin();
  CHECK(holding.wait().status == 0);
  CHECK(waiting.answer() == "true");
  for (const std::string name : {"a", "b", "c"}) CHECK(holder(server(), name) == thread.owner());
  CHECK(thread.call("unlock", k_multi) == "true");
}

TEST_CASE_FIXTURE(Fleet, "neither side keeps a part of the locks when one is not free") {
  JavaThread thread(java());
  REQUIRE(thread.call("lock", k_middle, {k_long_lease_ms}) == "true");
  CHECK(run(exec(server(), {"-w", "500ms", "a", "b", "c", "--", "true"})).status == 75);
  JavaThread other(java());
  CHECK(other.call("tryLock", k_multi) == "false");
  CHECK(server().command({"EXISTS", "a", "c"}) == "0");
  CHECK(thread.call("unlock", k_middle) == "true");
}

TEST_CASE_FIXTURE(Fleet, "both sides come through when they take the locks in opposite orders") {
  // rlock holds a and waits for b; Java holds c and waits for b, too: whoever gets it waits for
  // what the other has. With such a lease a MultiLock holds on for minutes: rlock lets go.
  JavaThread first(java());
  REQUIRE(first.call("lock", k_middle, {k_long_lease_ms}) == "true");
  const std::unique_ptr<Process> waiter =
      std::make_unique<Process>(exec(server(), k_until_told), ProcessOptions{.hold_stdin = true});
  REQUIRE(wait_until([&] { return !holder(server(), "a").empty(); }));
  JavaThread second(java());
  JavaCall call = second.start("lock", k_multi, {k_long_lease_ms});
  REQUIRE(wait_until([&] { return !holder(server(), "c").empty(); }));
  CHECK(first.call("unlock", k_middle) == "true");
  const auto rlock_has_all = [&] { return waiter->running() && waiter->out() == "got\n"; };
  REQUIRE(wait_until([&] { return call.done() || rlock_has_all(); }));
  const bool is_java_first = call.done();
  if (is_java_first) {
    CHECK(second.call("unlock", k_multi) == "true");
    waiter->wait_for_stdout("got");
  }
  waiter->close_stdin();
  CHECK(waiter->wait().status == 0);
  if (!is_java_first) {
    CHECK(call.answer() == "true");
    CHECK(second.call("unlock", k_multi) == "true");
  }
}
