#include "redis/node.hpp"

namespace rlock::redis {

Endpoint node_endpoint(const Endpoint& whole, const HostAndPort& node) {
  Endpoint endpoint;
  endpoint.host = node.host;
  endpoint.port = node.port;
  endpoint.database = whole.database;
  endpoint.credentials = whole.credentials;
  return endpoint;
}

std::unique_ptr<Connection> connect_node(const NodeOptions& options, const HostAndPort& node,
                                         const Patience& patience) {
  return std::make_unique<Connection>(node_endpoint(options.endpoint, node), options.name,
                                      options.reply_limit, patience);
}

}  // namespace rlock::redis
