// Removing what is provably garbage around a lock.
#pragma once

#include <string>
#include <vector>

#include "lock/inspection/problem.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

// One sort of garbage.
struct Fix {
  static constexpr const char* k_dead_waiter = "dead_waiter";
  std::string code;  // its published name (rlock-doctor(1)): that, or the k_code of a Problem
  Several found;     // members or keys
};

enum class Repair { look, repair };

// Removes what nobody can need any more, after looking once more in the same step, or only looks:
// waiters that are dead by Redisson's own rule or by ours, members without a score and scores
// without a member; and gives an expiry to the side key and to latches of `leftovers` that have
// none. Never touches the lock itself. Asks once for each thousand latches. Returns what that was,
// or would be.
// Throws as redis::Client::run.
[[nodiscard]] std::vector<Fix> repair(redis::Client& client, const std::string& name,
                                      const std::vector<std::string>& leftovers, Repair mode);

}  // namespace rlock::lock
