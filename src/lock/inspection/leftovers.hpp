// Leftovers: latches and side keys without an expiry. Nothing else would ever delete them. Also
// counters of tokens that give no token: nothing else would find them while the lock is free.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lock/inspection/problem.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

// Keys by the name of their lock. A bad counter has its name, but is not among the keys.
using Leftovers = std::map<std::string, std::vector<std::string>>;

// Searches all keys of the server for the leftovers of one lock, or of all locks. Blocks the server
// for about a millisecond a step. Throws as redis::Client::run.
[[nodiscard]] Leftovers find_leftovers(redis::Client& client,
                                       const std::optional<std::string>& name);

// Returns the latches among `keys`.
[[nodiscard]] std::vector<std::string> latches_of(std::vector<std::string> keys);

// Returns the problems of a lock with these leftovers.
[[nodiscard]] std::vector<Problem> find_leftover_problems(const std::string& name,
                                                          const std::vector<std::string>& keys);

// Returns the name of the lock that a latch or a side key belongs to.
[[nodiscard]] std::string lock_of_leftover(const std::string& key);

}  // namespace rlock::lock
