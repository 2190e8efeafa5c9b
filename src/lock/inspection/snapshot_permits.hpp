// What a snapshot tells of a semaphore.
#pragma once

#include <vector>

#include "lock/inspection/snapshot.hpp"
#include "redis/reply.hpp"

namespace rlock::lock {

// Notes in `snapshot` what the name's permits are and who has them, if the reply of snapshot.lua
// shows a semaphore. Returns whether it does. One of a service's of which no permit is out cannot
// be told from a string lock.
[[nodiscard]] bool read_permits(Snapshot& snapshot, const std::vector<redis::Reply>& items);

// Adds the problems of a semaphore.
void find_permit_problems(Snapshot& snapshot);

}  // namespace rlock::lock
