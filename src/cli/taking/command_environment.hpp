// What a command that runs under locks finds in its environment.
#pragma once

#include <string>
#include <vector>

#include "cli/taking/held_locks.hpp"

namespace rlock::cli {

// Throws Error (usage) if RLOCK_HELD cannot tell of the locks `names`, which `owner` is to hold for
// `run`: a nested run would wait for them for ever.
void check_room(const std::vector<std::string>& names, const std::string& owner,
                const std::string& run);

// Returns our own environment as NAME=value, with RLOCK_NAME, RLOCK_OWNER, RLOCK_KIND, RLOCK_HELD
// and RLOCK_TOKEN set for `locks`. `run` identifies this run among those that hold the same locks.
// An RLOCK_TOKEN that we inherited stays only where it is that of the same hold.
[[nodiscard]] std::vector<std::string> make_environment(const HeldLocks& locks,
                                                        const std::string& run);

}  // namespace rlock::cli
