// What is known of a cluster.
#pragma once

#include <memory>
#include <vector>

#include "redis/node.hpp"
#include "redis/slots.hpp"

namespace rlock::redis {

class Cluster {
 public:
  // `options.endpoint` names some nodes.
  explicit Cluster(NodeOptions options) : options_(std::move(options)) {}

  // Returns the master of a slot, or, where it has none, a node that will say so. Asks the nodes
  // if nothing is known yet, or if what is known is in doubt.
  // Throws Unavailable if none can be reached, Error (config) if they are of no cluster,
  // ServerError, ProtocolError, Interrupted.
  [[nodiscard]] HostAndPort owner(int slot, const Patience& patience);

  // Returns all masters that own slots. Throws as `owner`, and ServerError (CLUSTERDOWN) if there
  // is none.
  [[nodiscard]] std::vector<HostAndPort> masters(const Patience& patience);

  // A node has told where a slot is now.
  void learn(const Redirect& moved) { slots_.move(moved.slot, moved.node); }

  // A node could not be reached, or behaves oddly: another may know more.
  void doubt() noexcept { is_known_ = false; }

  // Returns the connection on which the last answer came if it is to this node; only once.
  [[nodiscard]] std::unique_ptr<Connection> take_connection(const HostAndPort& node);

 private:
  void ask(const Patience& patience);
  [[nodiscard]] std::vector<HostAndPort> candidates();

  NodeOptions options_;
  SlotMap slots_;
  bool is_known_ = false;
  std::size_t rounds_ = 0;
  HostAndPort asked_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace rlock::redis
