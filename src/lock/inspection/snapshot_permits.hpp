// What a snapshot tells of a semaphore.
#pragma once

#include <vector>

#include "lock/inspection/snapshot.hpp"
#include "redis/reply.hpp"

namespace rlock::lock {

// Notes in `snapshot` the permits of the name and their holders, if the reply of snapshot.lua shows
// a semaphore. Returns whether it does. A semaphore that another client created looks like a string
// lock while no permit is out.
[[nodiscard]] bool read_permits(Snapshot& snapshot, const std::vector<redis::Reply>& items);

// Adds the problems of a semaphore.
void find_permit_problems(Snapshot& snapshot);

}  // namespace rlock::lock
