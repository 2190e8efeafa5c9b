// The string lock of most other libraries: SET NX PX with a value that tells whose it is.
#pragma once

#include <string>

#include "lock/kinds/layout.hpp"

namespace rlock::lock {

// Whether the owner, which is the string's value, is this run's alone. One that the user gives may
// be others', too: then the latch tells whose hold it is, as long as that lasts.
enum class Value { fresh, given };

// A key that had this value before the first sending is somebody else's lock.
[[nodiscard]] Layout simple_layout(const std::string& name, Value value);

}  // namespace rlock::lock
