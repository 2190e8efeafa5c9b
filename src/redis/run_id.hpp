// The identity of a server's process. It changes with each restart.
#pragma once

#include <string>

#include "redis/reply.hpp"

namespace rlock::redis {

// Returns the run_id in the reply to INFO SERVER. Returns an empty string if there is none, for
// example because the user may not ask.
[[nodiscard]] std::string run_id_in(const Reply& info);

}  // namespace rlock::redis
