// Environment variables.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace rlock {

// Returns the value of a variable of this process. Returns nothing if it is not set or empty.
[[nodiscard]] inline std::optional<std::string> from_environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

}  // namespace rlock
