// The fair lock in Redisson's layout: first come, first served.
#pragma once

#include <string>

#include "lock/kinds/kind_operations.hpp"
#include "lua_limits.hpp"

namespace rlock::lock {

// A waiter asks every 6 s. The shortest wait is the default, too.
inline constexpr Milliseconds k_shortest_fair_wait = lua::k_our_wait;
// Each waiter adds its wait to the deadlines of the waiters behind it.
inline constexpr auto k_longest_fair_wait = std::chrono::floor<std::chrono::hours>(lua::k_far);

// `wait`: how long a dead waiter may stay in the queue.
[[nodiscard]] KindOperations fair_operations(const std::string& name, Milliseconds wait);

}  // namespace rlock::lock
