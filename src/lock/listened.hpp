// Locks for whose release somebody listens.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "redis/client.hpp"

namespace rlock::lock {

// Whether listeners are looked for among those of the server, or also among those of its shard of
// a cluster.
enum class Reach { server, shards };

// Returns the names of the locks on whose channel, of any kind but that of a single waiter,
// somebody listens: of all locks, or of `name`. Those whose name has a brace are only found by
// name. Empty where the user may not ask. Throws as redis::Client::command.
[[nodiscard]] std::set<std::string> listened_locks(redis::Client& client,
                                                   const std::optional<std::string>& name,
                                                   Reach reach = Reach::server);

}  // namespace rlock::lock
