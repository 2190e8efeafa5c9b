// One of several servers that belong together: behind sentinels, or in a cluster.
#pragma once

#include <memory>
#include <string>

#include "redis/connection.hpp"
#include "redis/url.hpp"

namespace rlock::redis {

// How connections are opened: the user, the name in CLIENT LIST, and the size of replies.
struct NodeOptions {
  Endpoint endpoint;  // of the whole group or cluster
  std::string name;
  std::size_t reply_limit = k_small_reply;
};

// Returns the endpoint of a single server: TCP, with the credentials and the database of `whole`.
[[nodiscard]] Endpoint node_endpoint(const Endpoint& whole, const HostAndPort& node);

// Connects to a single server. Throws as Connection.
[[nodiscard]] std::unique_ptr<Connection> connect_node(const NodeOptions& options,
                                                       const HostAndPort& node,
                                                       const Patience& patience);

}  // namespace rlock::redis
