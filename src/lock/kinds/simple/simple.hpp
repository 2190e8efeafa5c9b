// The string lock of most other libraries: SET NX PX. The value names the owner.
#pragma once

#include <string>

#include "lock/kinds/layout.hpp"

namespace rlock::lock {

// fresh: no other run has this value. given: the user chose the value, so other runs may have it,
// too. Then the latch proves which run holds the lock.
enum class Value { fresh, given };

// With Value::given, a string that had this value before the first request is another run's lock.
[[nodiscard]] Layout simple_layout(const std::string& name, Value value);

}  // namespace rlock::lock
