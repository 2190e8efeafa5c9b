// Finds the master of a group that sentinels watch: the server that a majority of them names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "redis/connection.hpp"

namespace rlock::redis {

struct MasterAddress {
  HostAndPort node;                  // as a sentinel spells it
  std::vector<std::string> numbers;  // all addresses of its host, each in one spelling
};

struct Master {
  MasterAddress address;
  std::unique_ptr<Connection> connection;
};

// Asks the sentinels for the master and connects to it. Repeats this until the server itself says
// that it is the master, or the deadline has passed. The master is the server that a majority of
// the sentinels names. If no majority answers within half of the time, a majority of those that
// answered is enough. Such a minority does not outvote an earlier majority, unless one of its
// sentinels has named that master before and knows of a later failover now.
// Throws Unavailable if no sentinel can be reached or there is no such master by the deadline,
// Error (config) if no sentinel knows the master or a server that was asked is not a sentinel,
// ServerError, ProtocolError, Interrupted.
[[nodiscard]] Master connect_master(const ConnectionOptions& options, const Deadline& deadline);

// Asks the sentinels for the master, as connect_master does. is_outdated then knows it. Throws
// Unavailable if the sentinels name none, Error (unavailable) if there is no descriptor to ask
// with, Interrupted.
void hear_of_failovers(const ConnectionOptions& options, const Deadline& deadline);

// Returns whether this process has heard since that another server is the master of the group.
[[nodiscard]] bool is_outdated(const Endpoint& whole, const MasterAddress& master);

}  // namespace rlock::redis
