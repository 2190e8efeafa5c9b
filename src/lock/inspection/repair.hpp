// Removes what is provably garbage around a lock.
#pragma once

#include <string>
#include <vector>

#include "lock/inspection/problem.hpp"
#include "lock/inspection/snapshot.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

// One sort of garbage.
struct Fix {
  static constexpr const char* k_dead_waiter = "dead_waiter";
  std::string code;  // published (rlock-doctor(1)): k_dead_waiter, or the k_code of a Problem
  Several found;     // members or keys
};

enum class Repair { look, repair };

// Repairs the surroundings of the lock of `snapshot`, or only looks. In small steps, each of which
// checks again, it removes: waiters that are dead by Redisson's rule or rlock's, members without a
// score, scores that had no member in the snapshot, and permits that have ended. It gives an expiry
// to a side key and to `leftovers` without one. Never touches the lock itself. No step blocks the
// server for long. Returns what it repaired, or would repair. Throws as redis::Client::run.
[[nodiscard]] std::vector<Fix> repair(redis::Client& client, const Snapshot& snapshot,
                                      const std::vector<std::string>& leftovers, Repair mode);

}  // namespace rlock::lock
