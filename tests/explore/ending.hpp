// Everything comes to an end: what is left of a lock when all of its clients have gone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "explore/world.hpp"

namespace rlock::explore {

// Has all clients give up, release or crash, and late requests arrive or not, all as `choice` says,
// and lets time pass until nothing can end any more. Then nothing may be left but what has no end,
// and a new client gets the lock at once. Calls `told` after each step, with what was done. Throws
// Violation.
void play_to_end(Rules& rules, const Layout& layout, World world, std::uint64_t choice,
                 const std::function<void(const std::string&)>& told);

}  // namespace rlock::explore
