// What is wrong with a lock.
#pragma once

#include <cstdint>
#include <optional>
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

// Adds the problems of the fencing tokens' counter `key` to those of `snapshot`, which has its
// holders. `value`: where it is a string; `ttl_ms`: as the server's PTTL has it.
void find_token_problems(Snapshot& snapshot, const std::string& key,
                         const std::optional<std::string>& value, std::int64_t ttl_ms);

}  // namespace rlock::lock
