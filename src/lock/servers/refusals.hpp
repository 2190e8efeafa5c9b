// Why a server that answers does not let an owner have a lock: what no wait would change.
#pragma once

#include <string>

#include "lock/words/terms.hpp"
#include "redis/client.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {

// Throws Refused: the name is in use by another `kind` of lock.
[[noreturn]] void refuse_kind(const std::string& name, const std::string& kind);

// Throws Error (usage): a process above this one reads, and this one is to write.
[[noreturn]] void refuse_upgrade(const std::string& name);

// A server has no vote, or too few have one, because it has just started. That ends by itself.
class Restarted : public redis::Unavailable {
 public:
  using Unavailable::Unavailable;
};

// Throws Restarted if a server that was up for `up` may have forgotten a lock that is still held.
// It has not if it tells that it writes each change to the disk before it answers (appendfsync
// always, no-appendfsync-on-rewrite no). Throws as redis::Client::commands.
void check_restart(redis::Client& client, Milliseconds up, const Terms& terms);

}  // namespace rlock::lock
