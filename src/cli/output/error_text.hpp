// Errors in words.
#pragma once

#include <string>

#include "base/error.hpp"

namespace rlock::cli {

// Returns the message of an error. It names the option by which the user can mend it, if any.
[[nodiscard]] std::string describe_error(const Error& error);

}  // namespace rlock::cli
