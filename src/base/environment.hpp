// What the environment says.
#pragma once

#include <optional>
#include <string>

namespace rlock {

// Returns the value of a variable of this process; nothing if there is none, or it is empty.
[[nodiscard]] std::optional<std::string> from_environment(const char* name);

}  // namespace rlock
