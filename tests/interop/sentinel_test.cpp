// Redisson in sentinel mode, with failovers.
#include <string>

#include <doctest/doctest.h>

#include "pairings.hpp"
#include "support/sentinels.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

struct Shared {
  // Java's start keeps a machine busy, and a failover that nobody asked for loses its locks.
  Sentinels group{{.down_after_ms = 5000}};
  Peer java{group.url()};
  int names = 0;
};

Shared& shared() {
  static Shared instance;
  return instance;
}

Pair pair() { return {shared().java, shared().group.url()}; }

std::string new_name() { return "job" + std::to_string(++shared().names); }

bool is_awaited(const Lock& lock) {
  Server& master = shared().group.master();
  if (master.pid() < 0) return false;
  if (lock.kind == "fair") return master.command({"LLEN", lock.queue()}) == "1";
  return master.list({"PUBSUB", "NUMSUB", lock.channel()}).at(1) != "0";
}

}  // namespace

TEST_CASE("sentinel: a lock of either side excludes both, and is handed over") {
  check_handovers(pair(), new_name, is_awaited, [](const Lock&, Side, Client&) {});
}

TEST_CASE("sentinel: a failover leaves locks and waiters to the new master") {
  check_handovers(
      pair(), new_name, is_awaited, [](const Lock& lock, Side /*waiting*/, Client& waiter) {
        Sentinels& group = shared().group;
        Server& old = group.master();
        Server& other = &old == &group.server(0) ? group.server(1) : group.server(0);
        REQUIRE(old.is_replicated());
        old.stop();
        // At once: after a while without a master an old Redisson gives its subscription up.
        REQUIRE(wait_until([&] {
          return group.sentinel(0).command({"SENTINEL", "FAILOVER", Sentinels::k_master}) == "OK";
        }));
        REQUIRE(group.wait_for_master(other));
        // The sentinels would see to that, too, after a while.
        old.start();
        old.command({"REPLICAOF", "127.0.0.1", std::to_string(other.port())});
        REQUIRE(wait_until([&] {
          return has(other.command({"INFO", "replication"}), "state=online");
        }));
        REQUIRE(waits(waiter, lock, is_awaited));
      });
}
