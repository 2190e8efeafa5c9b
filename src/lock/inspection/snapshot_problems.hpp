// What is wrong with a lock.
#pragma once

#include <string>
#include <vector>

#include "lock/inspection/snapshot.hpp"

namespace rlock::lock {

struct KeyType {
  std::string key;
  std::string type;  // as the server's TYPE has it
};

// Returns the problems of a snapshot. `types`: of the lock, of its queue, of the
// queue's deadlines, of the side key and of the fencing tokens' counter, in this order.
[[nodiscard]] std::vector<Problem> find_problems(const Snapshot& snapshot,
                                                 const std::vector<KeyType>& types);

}  // namespace rlock::lock
