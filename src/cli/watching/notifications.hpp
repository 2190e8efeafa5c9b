// What a server tells of itself and of its keys, where it does and may be asked.
#pragma once

#include <string>

#include "redis/client.hpp"

namespace rlock::cli {

// Returns whether the server publishes every change of a lock's keys (notify-keyspace-events with K
// and A, or g, h, x, l and z). False if it may not be asked.
// Throws Unavailable, ProtocolError, Interrupted.
[[nodiscard]] bool notifies_of_locks(redis::Client& client);

// Returns the channel on which the changes of `key` are published.
[[nodiscard]] std::string key_channel(int database, const std::string& key);

}  // namespace rlock::cli
