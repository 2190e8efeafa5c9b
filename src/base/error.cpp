#include "base/error.hpp"

#include <system_error>

namespace rlock {

std::string errno_text(int errno_value) { return std::generic_category().message(errno_value); }

}  // namespace rlock
