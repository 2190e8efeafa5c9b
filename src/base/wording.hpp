// Counts in sentences.
#pragma once

#include <cstddef>
#include <string>

namespace rlock {

// Returns "1 lock" or "2 locks".
[[nodiscard]] inline std::string plural(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// Returns "FIRST" if `count` is 1, or "FIRST and 2 more" if it is 3. `count` must be 1 at least.
[[nodiscard]] inline std::string first_of(const std::string& first, std::size_t count) {
  return first + (count > 1 ? " and " + std::to_string(count - 1) + " more" : "");
}

}  // namespace rlock
