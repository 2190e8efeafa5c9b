// A server that has just started, and may have forgotten a lock.
#pragma once

#include "lock/words/terms.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

// Throws Restarted, unless the server writes each change to the disk before it answers (appendfsync
// always, no-appendfsync-on-rewrite no). Call it for a server that started only `up` ago: any other
// may have forgotten a lock that is still held. Throws as redis::Client::commands.
void check_restart(redis::Client& client, Milliseconds up, const Terms& terms);

}  // namespace rlock::lock
