// The string lock of most other libraries: SET NX PX. The value names the owner.
#pragma once

#include <string>

#include "lock/kinds/kind_operations.hpp"

namespace rlock::lock {

[[nodiscard]] KindOperations simple_operations(const std::string& name);

}  // namespace rlock::lock
