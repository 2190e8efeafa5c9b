// The fair lock in Redisson's layout: first come, first served.
#pragma once

#include <string>

#include "lock/kinds/layout.hpp"

namespace rlock::lock {

inline constexpr Milliseconds k_shortest_fair_wait{15'000};  // a waiter asks every 6 s

// `wait`: how long a dead waiter may stay in the queue.
[[nodiscard]] Layout fair_layout(const std::string& name, Milliseconds wait);

}  // namespace rlock::lock
