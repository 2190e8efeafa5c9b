// Taking several locks: all of them, or none.
#pragma once

#include <vector>

#include "cli/taking/held_locks.hpp"
#include "cli/taking/taking.hpp"

namespace rlock::cli {

// Takes the locks of all requests, which have the same deadline, and adds them to `locks`. Returns
// false, and holds none, if they were not free in time; says who has the one that was not. Throws
// as `take`; then `locks` has those that were taken.
//
// Who holds some and waits for another lets go after a few seconds, and waits for that one with
// empty hands: so nobody is kept from a lock for long that is not in use, and those who take the
// same locks in another order, as a MultiLock of Redisson may, do not wait for each other for ever.
[[nodiscard]] bool take_all(std::vector<Request> requests, const Globals& globals,
                            lock::Session& session, HeldLocks& locks);

}  // namespace rlock::cli
