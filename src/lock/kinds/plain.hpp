// The reentrant lock in Redisson's layout: a hash with the owner and its hold count.
#pragma once

#include <string>

#include "lock/kinds/kind_operations.hpp"

namespace rlock::lock {

[[nodiscard]] KindOperations plain_operations(const std::string& name);

// Returns the release of a plain lock, for other kinds that use the same script.
// `added_wait`: what the owner, as a waiter, added to the deadlines of the waiters behind it.
using ReleaseCall = decltype(KindOperations::release);
[[nodiscard]] ReleaseCall plain_release(Milliseconds added_wait);

}  // namespace rlock::lock
