// The string lock of most other libraries: SET NX PX. The value names the owner.
#pragma once

#include <string>

#include "lock/kinds/layout.hpp"

namespace rlock::lock {

[[nodiscard]] Layout simple_layout(const std::string& name);

}  // namespace rlock::lock
