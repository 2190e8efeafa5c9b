// The environment of a command that runs under locks.
#pragma once

#include <string>
#include <vector>

#include "cli/taking/held_locks.hpp"

namespace rlock::cli {

// Throws Error (usage) if RLOCK_HELD has no room for entries of the locks `names`, with `owner` and
// `run`. Without the entries, a nested run would wait for these locks for ever.
void check_room(const std::vector<std::string>& names, const std::string& owner,
                const std::string& run);

// Returns this process's environment as NAME=value, with RLOCK_NAME, RLOCK_OWNER, RLOCK_KIND,
// RLOCK_HELD and RLOCK_TOKEN set for `locks`. `run` identifies this run among the runs that hold
// the same locks. An inherited RLOCK_TOKEN stays only if it belongs to the same hold.
[[nodiscard]] std::vector<std::string> make_environment(const HeldLocks& locks,
                                                        const std::string& run);

}  // namespace rlock::cli
