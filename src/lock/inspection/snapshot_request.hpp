// How a lock's state is asked for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lua_scripts.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

// The places of the reply.
using Place = lua::snapshot::Part;
using enum lua::snapshot::Part;

// Returns all that Redis holds about the lock `name` at one instant, as snapshot.lua does, but of a
// long queue in far less time. Throws as redis::Client::run.
[[nodiscard]] redis::Reply request_snapshot(redis::Client& client, const std::string& name);

// The same of many locks, each at an instant of its own, in one round trip where none has a long
// queue. Returns a reply for each name, which may be an error. Throws as redis::Client::run_all.
[[nodiscard]] std::vector<redis::Reply> request_snapshots(redis::Client& client,
                                                          std::span<const std::string> names);

}  // namespace rlock::lock
