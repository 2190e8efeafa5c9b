// Key notifications of a server.
#pragma once

#include <string>

#include "redis/client.hpp"

namespace rlock::cli {

// Returns whether the server publishes every change of a lock's keys (notify-keyspace-events with
// K, and with A or g, h, x, l and z). Returns false if the user may not ask for this setting.
// Throws Unavailable, ProtocolError, Interrupted.
[[nodiscard]] bool notifies_of_locks(redis::Client& client);

// Returns the channel on which the changes of `key` are published.
[[nodiscard]] std::string key_channel(int database, const std::string& key);

}  // namespace rlock::cli
