// Requests the state of a lock.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lua_scripts.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

// The indexes of the reply's items.
using Place = lua::snapshot::Part;
using enum lua::snapshot::Part;

// Returns the reply of snapshot.lua for the lock `name`. For a long queue, it is far faster than
// the script alone. Throws as redis::Client::run.
[[nodiscard]] redis::Reply request_snapshot(redis::Client& client, const std::string& name);

// The same for many locks, each at its own moment: one round trip, and more for each long queue.
// Returns a reply for each name, which may be an error. Throws as redis::Client::run_all.
[[nodiscard]] std::vector<redis::Reply> request_snapshots(redis::Client& client,
                                                          std::span<const std::string> names);

}  // namespace rlock::lock
