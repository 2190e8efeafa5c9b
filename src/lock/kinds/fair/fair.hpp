// The fair lock in Redisson's layout: first come, first served.
#pragma once

#include <string>

#include "lock/kinds/layout.hpp"

namespace rlock::lock {

inline constexpr Milliseconds k_shortest_fair_wait{15'000};  // a waiter shows its life every 6 s

// `wait`: how long a waiter may keep its place after its death.
[[nodiscard]] Layout fair_layout(const std::string& name, Milliseconds wait);

}  // namespace rlock::lock
