// Errors with status 76 (wrong_kind): a key that has a lock's name is something else.
#pragma once

#include <string>

#include "base/error.hpp"

namespace rlock::lock {

// Something else uses the name of the lock that is to be taken. `found`: as the scripts call it,
// such as "list" or "read-write lock".
[[nodiscard]] Error in_use(const std::string& name, const std::string& found);

// What is to be broken, or to lose a waiter, is no lock. `found`: as for in_use. `advice`:
// ends the message.
[[nodiscard]] Error not_a_lock(const std::string& name, const std::string& found,
                               const std::string& advice = "");

// A hash whose owners look like an application's.
[[nodiscard]] Error doubtful_hash(const std::string& name);

// The counter of fencing tokens is not a counter. `why`: as the scripts or the server say.
[[nodiscard]] Error no_counter(const std::string& name, const std::string& why);

}  // namespace rlock::lock
