#include "base/wording.hpp"

namespace rlock {

std::string plural(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string first_of(const std::string& first, std::size_t count) {
  return first + (count > 1 ? " and " + std::to_string(count - 1) + " more" : "");
}

}  // namespace rlock
