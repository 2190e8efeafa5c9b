// Finds the master of a group that sentinels watch.
#pragma once

#include <cstdint>
#include <memory>

#include "redis/connection.hpp"

namespace rlock::redis {

struct Master {
  HostAndPort node;
  std::int64_t epoch = 0;  // of the failover that made it the master. The next has a higher one
  std::unique_ptr<Connection> connection;
};

// Asks the sentinels for the master and connects to it. Repeats this until the server itself says
// that it is the master, or the deadline has passed. Never accepts a master with a lower epoch than
// this process has heard of. If fewer than a majority of the sentinels answer, their answers count
// only after half of the time.
// Throws Unavailable if no sentinel can be reached or there is no such master by the deadline,
// Error (config) if no sentinel knows the master or a server that was asked is not a sentinel,
// ServerError, ProtocolError, Interrupted.
[[nodiscard]] Master connect_master(const ConnectionOptions& options, const Patience& patience);

// Asks the sentinels for failovers. is_outdated then knows them. If fewer than a majority answer,
// it waits for the others for half of the time. Throws Unavailable if no sentinel names the master,
// Error (unavailable) if there is no descriptor to ask with, Interrupted.
void hear_of_failovers(const ConnectionOptions& options, const Patience& patience);

// Returns whether this process has heard of a failover of the group after the failover of `epoch`.
[[nodiscard]] bool is_outdated(const Endpoint& whole, std::int64_t epoch);

}  // namespace rlock::redis
