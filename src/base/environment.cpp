#include "base/environment.hpp"

#include <cstdlib>

namespace rlock {

std::optional<std::string> from_environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

}  // namespace rlock
