// Redisson in cluster mode: before 3.22 it publishes to all nodes, later in the lock's shard.
#include "support/cluster.hpp"

#include <chrono>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "pairings.hpp"
#include "support/wait_until.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

struct Shared {
  Cluster cluster;
  Peer java{cluster.url()};
};

Shared& shared() {
  static Shared instance;
  return instance;
}

Cluster& cluster() { return shared().cluster; }

Pair pair() { return {shared().java, cluster().url()}; }

int listeners(const Lock& lock, const char* way) {
  int count = 0;
  for (std::size_t node = 0; node < 6; ++node) {
    if (cluster().node(node).pid() < 0) continue;
    count += std::stoi(cluster().node(node).list({"PUBSUB", way, lock.channel()}).at(1));
  }
  return count;
}

// Somebody waits for the lock now: in its queue, or on its channel, in either way.
bool is_awaited(const Lock& lock) {
  if (lock.kind == "fair") return cluster().command(lock.queue(), {"LLEN", lock.queue()}) == "1";
  return listeners(lock, "NUMSUB") + listeners(lock, "SHARDNUMSUB") > 0;
}

std::string name_on_first() { return cluster().name_on(0); }

}  // namespace

TEST_CASE("cluster: a lock of either side excludes both, and is handed over, on each node") {
  std::size_t node = 0;
  check_handovers(
      pair(), [&] { return cluster().name_on(node++ % 3); }, is_awaited,
      [](const Lock&, Side, Client&) {});
}

TEST_CASE("cluster: readers and writers of either side wake each other, on each node") {
  std::size_t node = 0;
  for (const auto& [holding, waiting] :
       {std::pair{Side::java, Side::rlock}, std::pair{Side::rlock, Side::java}}) {
    for (const auto& [held, wanted] : {std::pair{"read", "write"}, std::pair{"write", "read"}}) {
      const std::string name = cluster().name_on(node++ % 3);
      const std::string holder_name = holding == Side::java ? "Java" : "rlock";
      CAPTURE(holder_name);
      CAPTURE(held);
      const auto holder = pair().client(holding, {held, name});
      REQUIRE(holder->gets_it());
      CHECK(pair().is_excluded(Side::java, {wanted, name}));
      CHECK(pair().is_excluded(Side::rlock, {wanted, name}));
      const auto waiter = pair().client(waiting, {wanted, name});
      REQUIRE(waits(*waiter, {wanted, name}, is_awaited));
      CHECK_FALSE(waiter->has_it());
      holder->release();
      REQUIRE(waiter->gets_it());
      waiter->release();
      CHECK(cluster().command(name, {"EXISTS", name}) == "0");
    }
  }
}

TEST_CASE("cluster: messages, not polls, hand a lock to and fro") {
  const Lock lock{"plain", cluster().name_on(2)};
  constexpr int k_rounds = 12;
  const auto start = std::chrono::steady_clock::now();
  std::unique_ptr<Client> holder = pair().client(Side::java, lock);
  REQUIRE(holder->gets_it());
  for (int round = 0; round < k_rounds; ++round) {
    std::unique_ptr<Client> next = pair().client(round % 2 == 0 ? Side::rlock : Side::java, lock);
    REQUIRE(waits(*next, lock, is_awaited));
    holder->release();
    REQUIRE(next->gets_it());
    holder = std::move(next);
  }
  holder->release();
  // A waiter of rlock that missed the message would ask again after 5 s.
  CHECK(std::chrono::steady_clock::now() - start < k_rounds / 2 * 5s);
}

TEST_CASE("cluster: a slot that is moved takes its locks and their waiters along") {
  // Redisson that listens in the shard (4.7.0) does not listen again where the slot has gone. It
  // looks again at the end of the lease, which is why rlock's are short, and renewed.
  Pair short_leases = pair();
  short_leases.rlock_lease = "10s";
  check_handovers(short_leases, name_on_first, is_awaited,
                  [](const Lock& lock, Side waiting, Client& waiter) {
                    cluster().move_slot(lock.name, 1);
                    REQUIRE(wait_until([&] { return cluster().owner(lock.name) == 1; }));
                    if (waiting == Side::rlock) REQUIRE(waits(waiter, lock, is_awaited));
                  });
}

TEST_CASE("cluster: a master that is killed leaves its locks and their waiters to its replica") {
  std::size_t master = 2;  // of the two that have its slots by turns
  check_handovers(
      pair(), [&] { return cluster().name_on(master); }, is_awaited,
      [&](const Lock& lock, Side waiting, Client& waiter) {
        REQUIRE(cluster().node(master).is_replicated());
        cluster().set_node_timeout(std::chrono::seconds(1));
        cluster().node(master).stop();
        REQUIRE(cluster().wait_for_takeover(lock.name, master));
        cluster().node(master).start();
        REQUIRE(cluster().wait_until_whole());
        master = master == 2 ? 5 : 2;
        if (waiting == Side::rlock) REQUIRE(waits(waiter, lock, is_awaited));
      });
}
