// Errors in words.
#pragma once

#include <string>

#include "base/error.hpp"

namespace rlock::cli {

// Returns the message of an error. If the user can do something about it by an option, the message
// names that option.
[[nodiscard]] std::string describe_error(const Error& error);

}  // namespace rlock::cli
