// Errors of servers that answer but cannot grant the lock.
#pragma once

#include <string>

#include "lock/words/terms.hpp"
#include "redis/client.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {

// Throws Refused: the name is in use by another `kind` of lock.
[[noreturn]] void refuse_kind(const std::string& name, const std::string& kind);

// Throws Error (usage): an outer run holds the lock as a reader, and this run wants to write.
[[noreturn]] void refuse_upgrade(const std::string& name);

// One server, or too many of several, has no vote because it has just started. That ends by itself.
class Restarted : public redis::Unavailable {
 public:
  using Unavailable::Unavailable;
};

// Throws Restarted, unless the server writes each change to the disk before it answers (appendfsync
// always, no-appendfsync-on-rewrite no). Call it for a server that started only `up` ago: any other
// may have forgotten a lock that is still held. Throws as redis::Client::commands.
void check_restart(redis::Client& client, Milliseconds up, const Terms& terms);

}  // namespace rlock::lock
