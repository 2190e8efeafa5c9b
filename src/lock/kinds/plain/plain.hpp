// The reentrant lock in Redisson's layout: a hash of the owner and its count.
#pragma once

#include <string>

#include "lock/kinds/layout.hpp"

namespace rlock::lock {

[[nodiscard]] Layout plain_layout(const std::string& name);

// How a plain lock is released, where `added_wait` is what its owner adds to the deadlines of those
// that queue behind it. For layouts that are released by the same script.
using ReleaseCall = decltype(Layout::release);
[[nodiscard]] ReleaseCall plain_release(Milliseconds added_wait);

}  // namespace rlock::lock
