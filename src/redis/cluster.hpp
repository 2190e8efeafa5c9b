// What this process knows about a cluster: its nodes, and which node owns which slots.
#pragma once

#include <memory>
#include <vector>

#include "redis/connection.hpp"
#include "redis/slots.hpp"

namespace rlock::redis {

class Cluster {
 public:
  // `options.endpoint` names some nodes.
  explicit Cluster(ConnectionOptions options) : options_(std::move(options)) {}

  // Returns the master of a slot. If the slot has no master, returns a node that will report that.
  // Asks the nodes if nothing is known yet, or after `doubt`.
  // Throws Unavailable if no node can be reached, Error (config) if the nodes belong to no cluster,
  // ServerError, ProtocolError, Interrupted.
  [[nodiscard]] HostAndPort owner(int slot, const Deadline& deadline);

  // Returns all masters that own slots. Throws as `owner`.
  [[nodiscard]] std::vector<HostAndPort> masters(const Deadline& deadline);

  // Returns whether `node` is the master of a slot. Asks another node, unless one was asked within
  // `age`: a deposed master does not know it yet. Throws as `owner`.
  [[nodiscard]] bool is_owner(const HostAndPort& node, int slot, Milliseconds age,
                              const Deadline& deadline);

  // Notes the new node of a slot, which MOVED has named.
  void learn(const Redirect& moved) { slots_.move(moved.slot, moved.node); }

  // Lets the next call ask the nodes again. Call it if a node cannot be reached or hangs.
  void doubt() noexcept { is_known_ = false; }

  // Returns the connection of the last answer, once, if it is to this node.
  [[nodiscard]] std::unique_ptr<Connection> take_connection(const HostAndPort& node);

 private:
  void ask(const Deadline& deadline, const HostAndPort& beside = {});
  [[nodiscard]] std::vector<HostAndPort> candidates(const HostAndPort& beside);

  ConnectionOptions options_;
  SlotMap slots_;
  bool is_known_ = false;
  TimePoint asked_at_;
  std::size_t rounds_ = 0;
  HostAndPort asked_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace rlock::redis
