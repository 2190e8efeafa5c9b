// Finds the problems of a lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lock/inspection/snapshot.hpp"

namespace rlock::lock {

struct KeyType {
  std::string key;
  std::string type;  // as from TYPE
};

// Returns the problems of a snapshot. `types`: the types of the lock, the queue, the queue's
// deadlines, the side key and the token counter, in this order. `token_ttl_ms`: the counter's PTTL.
[[nodiscard]] std::vector<Problem> find_problems(const Snapshot& snapshot,
                                                 const std::vector<KeyType>& types,
                                                 std::int64_t token_ttl_ms);

// Returns a note if a string is a number that lasts longer than a string lock does. Otherwise
// returns nothing.
[[nodiscard]] std::optional<LoneNumber> find_lone_number(const Snapshot& snapshot);

// Returns the waiters that have a deadline and are not in the queue.
[[nodiscard]] std::vector<std::string> find_orphans(const Snapshot& snapshot);

}  // namespace rlock::lock
