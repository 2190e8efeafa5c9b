// The reentrant lock in Redisson's layout: a hash with the owner and its hold count.
#pragma once

#include <string>

#include "lock/kinds/layout.hpp"

namespace rlock::lock {

[[nodiscard]] Layout plain_layout(const std::string& name);

// Returns the release of a plain lock, for other layouts that use the same script. `added_wait`:
// what the owner, as a waiter, added to the deadlines of the waiters behind it.
using ReleaseCall = decltype(Layout::release);
[[nodiscard]] ReleaseCall plain_release(Milliseconds added_wait);

}  // namespace rlock::lock
