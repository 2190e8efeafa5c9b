// Waiters that are taken out of a queue of Redisson's.
#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "fleet.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

const Lock k_lock{"fair", "job"};
// Redisson's wait, and what the test may have taken meanwhile.
constexpr long long k_wait = 300'000;
constexpr auto k_soon = 60s;

Result evict(const Server& server, const std::string& owner) {
  return run(rlock_argv("evict", "-r", server.unix_url(), k_lock.name, owner));
}

long long deadline(const Server& server, const std::string& owner) {
  return std::stoll(server.command({"ZSCORE", k_lock.deadlines(), owner}));
}

}  // namespace

TEST_CASE_FIXTURE(Fleet, "rlock evict lets Java pass a dead waiter of Java") {
  JavaClient holder(java(), k_lock);
  REQUIRE(holder.gets_it());
  Peer dying(server().tcp_url());
  bool is_head = false;
  SUBCASE("at the head") { is_head = true; }
  SUBCASE("in the middle") {}
  std::unique_ptr<JavaClient> first;
  if (!is_head) {
    first = std::make_unique<JavaClient>(java(), k_lock);
    REQUIRE(come_to_wait(k_lock));
  }
  JavaClient dead(dying, k_lock);
  REQUIRE(come_to_wait(k_lock, is_head ? 1 : 2));
  JavaClient second(java(), k_lock);
  REQUIRE(come_to_wait(k_lock, is_head ? 2 : 3));
  JavaClient third(java(), k_lock);
  REQUIRE(come_to_wait(k_lock, is_head ? 3 : 4));
  const std::string dead_owner = dead.thread().owner();
  const std::string second_owner = second.thread().owner();
  const std::string third_owner = third.thread().owner();
  const long long before = deadline(server(), second_owner);
  CHECK(deadline(server(), third_owner) == before + k_wait);
  dying.kill();

  const Result result = evict(server(), dead_owner);
  CHECK(result.status == 0);
  CHECK(result.err == "rlock: job: evicted " + dead_owner + ", position " + (is_head ? "1" : "2") +
                          " in the queue\n");
  // As Redisson's own waiter gives its time back when it gives up.
  const long long lowered = before - deadline(server(), second_owner);
  CHECK(lowered <= k_wait);
  CHECK(lowered > k_wait - 60'000);
  CHECK(deadline(server(), third_owner) == deadline(server(), second_owner) + k_wait);
  if (!is_head) {
    CHECK(lowered == k_wait);
    CHECK(deadline(server(), second_owner) == deadline(server(), first->thread().owner()) + k_wait);
  }

  holder.release();
  if (first) {
    REQUIRE(first->gets_it(k_soon));
    CHECK_FALSE(second.has_it());
    first->release();
  }
  REQUIRE(second.gets_it(k_soon));
  CHECK_FALSE(third.has_it());
  second.release();
  REQUIRE(third.gets_it(k_soon));
  third.release();
}

TEST_CASE_FIXTURE(Fleet, "rlock evict calls Java, which waits for nobody but a dead head") {
  JavaClient holder(java(), k_lock);
  REQUIRE(holder.gets_it());
  Peer dying(server().tcp_url());
  JavaClient dead(dying, k_lock);
  REQUIRE(come_to_wait(k_lock));
  JavaClient next(java(), k_lock);
  REQUIRE(come_to_wait(k_lock, 2));
  const std::string dead_owner = dead.thread().owner();
  dying.kill();
  holder.release();
  CHECK(queue(k_lock).size() == 2);
  CHECK(evict(server(), dead_owner).status == 0);
  REQUIRE(next.gets_it(k_soon));
  next.release();
}

TEST_CASE_FIXTURE(Fleet, "rlock evict sends a living waiter of Java to the end of the queue") {
  JavaClient holder(java(), k_lock, 5000);
  REQUIRE(holder.gets_it());
  JavaClient first(java(), k_lock);
  REQUIRE(come_to_wait(k_lock));
  JavaClient second(java(), k_lock);
  REQUIRE(come_to_wait(k_lock, 2));
  const std::string first_owner = first.thread().owner();
  const Result result = evict(server(), first_owner);
  CHECK(result.status == 0);
  CHECK(
      result.err ==
      "rlock: job: evicted " + first_owner +
          ", position 1 in the queue; it seems alive, and will join the queue again at the end\n");
  REQUIRE(second.gets_it());
  second.release();
  REQUIRE(first.gets_it());
  first.release();
}
