// Environment variables.
#pragma once

#include <optional>
#include <string>

namespace rlock {

// Returns the value of a variable of this process. Returns nothing if it is not set or empty.
[[nodiscard]] std::optional<std::string> from_environment(const char* name);

}  // namespace rlock
