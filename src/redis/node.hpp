// One server of several that belong together: behind sentinels, or of a cluster.
#pragma once

#include <memory>
#include <string>

#include "redis/connection.hpp"
#include "redis/url.hpp"

namespace rlock::redis {

// How connections are opened: as whom, under which name, for replies of which size.
struct NodeOptions {
  Endpoint endpoint;  // of the whole
  std::string name;
  std::size_t reply_limit = k_small_reply;
};

// Returns the endpoint of a single server: by tcp, with the credentials and the database of
// `whole`.
[[nodiscard]] Endpoint node_endpoint(const Endpoint& whole, const HostAndPort& node);

// Connects to a single server. Throws as Connection.
[[nodiscard]] std::unique_ptr<Connection> connect_node(const NodeOptions& options,
                                                       const HostAndPort& node,
                                                       const Patience& patience);

}  // namespace rlock::redis
