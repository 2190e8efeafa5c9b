// Counts in sentences.
#pragma once

#include <cstddef>
#include <string>

namespace rlock {

// Returns "1 lock" or "2 locks".
[[nodiscard]] std::string plural(std::size_t count, const std::string& noun);

// Returns the first of `count`, one at the least: "FIRST", or "FIRST and 2 more".
[[nodiscard]] std::string first_of(const std::string& first, std::size_t count);

}  // namespace rlock
