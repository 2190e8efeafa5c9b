// The master of a group that sentinels watch.
#pragma once

#include <cstdint>
#include <memory>

#include "redis/node.hpp"

namespace rlock::redis {

struct Master {
  HostAndPort node;
  std::int64_t epoch = 0;  // of the failover that has made it one: each has a higher one
  std::unique_ptr<Connection> connection;
};

// Asks the sentinels for the master and connects to it; again until it is one that says itself that
// it is the master. The deadline bounds all that. One of a lower epoch than this process has heard
// of is never taken; what less than half of the sentinels say counts when half of the time is over.
// Throws Unavailable if no sentinel can be reached or there is no such master by then, Error
// (config) if no sentinel knows it or who was asked is none; ServerError, ProtocolError,
// Interrupted.
[[nodiscard]] Master connect_master(const NodeOptions& options, const Patience& patience);

// Asks the sentinels for failovers, which is_outdated then knows of. Throws Unavailable if none of
// them tells of the master; Error (unavailable) without a descriptor to ask with; Interrupted.
void hear_of_failovers(const NodeOptions& options, const Patience& patience);

// Returns whether this process has heard of a failover of the group since the one of `epoch`.
[[nodiscard]] bool is_outdated(const Endpoint& whole, std::int64_t epoch);

}  // namespace rlock::redis
