// What is wrong with a lock.
#pragma once

#include <cstdint>
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
// `token_ttl_ms`: of that counter, as the server's PTTL has it.
[[nodiscard]] std::vector<Problem> find_problems(const Snapshot& snapshot,
                                                 const std::vector<KeyType>& types,
                                                 std::int64_t token_ttl_ms);

}  // namespace rlock::lock
