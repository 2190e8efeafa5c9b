// A lock with up to N holders at once, in the layout of Redisson's RPermitExpirableSemaphore.
#pragma once

#include <string>

#include "lock/kinds/kind_operations.hpp"

namespace rlock::lock {

// The owner is the identifier of its permit. A nested run shares the permit; the last run releases
// it. `permits`: how many owners may hold one at once.
[[nodiscard]] KindOperations semaphore_operations(const std::string& name, int permits);

}  // namespace rlock::lock
