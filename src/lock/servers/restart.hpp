// Servers that may have forgotten a lock when they started again.
#pragma once

#include "redis/client.hpp"

namespace rlock::lock {

// Returns whether the server keeps every change through a restart: it writes each to the disk
// before it answers (appendfsync always, no-appendfsync-on-rewrite no). No, where it does not tell.
// Throws redis::Unavailable, redis::ProtocolError, redis::Interrupted.
[[nodiscard]] bool forgets_nothing(redis::Client& client);

}  // namespace rlock::lock
