// Takes several locks: all of them, or none.
#pragma once

#include <vector>

#include "cli/taking/held_locks.hpp"
#include "cli/taking/taking.hpp"

namespace rlock::cli {

// Takes the locks of all requests and adds them to `locks`. All requests must have the same
// deadline. Returns false, and holds no lock, if one was not free in time. A message then names its
// holder. Throws as `take`. `locks` then has the locks that were taken.
//
// A run that holds some locks and waits for another releases them after 2 to 4 s, and waits for the
// missing lock first. So it keeps no unused lock for long. Runs that take the same locks in another
// order, such as a MultiLock of Redisson, do not wait for each other forever.
[[nodiscard]] bool take_all(std::vector<Request> requests, const Globals& globals,
                            lock::Session& session, HeldLocks& locks);

}  // namespace rlock::cli
