// How time passes in a world, and which worlds are the same.
#pragma once

#include <cstdint>
#include <string>

#include "explore/world.hpp"

namespace rlock::explore {

// Lets time pass until something may be different. Returns how long (ms).
std::int64_t pass(World& world);

// Sets the server's clock back by an hour: whatever is compared with it ends that much later.
void set_back(World& world);

// Makes worlds equal that differ in nothing that matters; returns a text of all that matters.
std::string normalise(World& world);

// Returns a name that nothing in the world tells of: a fresh UUID, with as few different ones as
// can be.
[[nodiscard]] std::string fresh(const World& world, char letter, const std::string& suffix);

}  // namespace rlock::explore
