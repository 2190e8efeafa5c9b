// What identifies a server's process: another one after each restart.
#pragma once

#include <string>

#include "redis/reply.hpp"

namespace rlock::redis {

// Returns the run_id that the reply to INFO SERVER tells; empty if it tells none, as where the user
// may not ask.
[[nodiscard]] std::string run_id_in(const Reply& info);

}  // namespace rlock::redis
