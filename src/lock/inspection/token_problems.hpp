// What is wrong with the counter of a lock's fencing tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lock/inspection/snapshot.hpp"

namespace rlock::lock {

// Adds the problems of the counter `key` to those of `snapshot`, which has its holders. `value`:
// where it is a string; `ttl_ms`: as the server's PTTL has it.
void find_token_problems(Snapshot& snapshot, const std::string& key,
                         const std::optional<std::string>& value, std::int64_t ttl_ms);

}  // namespace rlock::lock
