// At most so many holders at once, in the layout of Redisson's RPermitExpirableSemaphore.
#pragma once

#include <string>

#include "lock/kinds/layout.hpp"

namespace rlock::lock {

// The owner is the identifier of its permit. A nested run shares it; the last one gives it back.
// `permits`: how many may have one at once.
[[nodiscard]] Layout semaphore_layout(const std::string& name, int permits);

}  // namespace rlock::lock
