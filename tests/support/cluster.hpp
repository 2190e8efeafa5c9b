// A throw-away cluster: three masters with a replica each.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "server.hpp"

namespace rlock::test {

// Node 0 owns slots 0 to 5460, node 1 those to 10922, node 2 the rest; 3, 4 and 5 are their
// replicas. A master that does not answer for five seconds is replaced.
class Cluster {
 public:
  // Waits until all nodes agree and the replicas are in step. Throws std::runtime_error when that
  // does not come about (30 s).
  explicit Cluster(const std::vector<std::string>& args = {});

  // Has the nodes that run replace a master that does not answer for so long.
  void set_node_timeout(std::chrono::milliseconds timeout);

  // redis-cluster://... of the first three nodes.
  [[nodiscard]] std::string url() const;
  [[nodiscard]] Server& node(std::size_t i) { return *nodes_.at(i); }
  // The number of the node that owns the slot of a key or channel now, as most nodes see it.
  [[nodiscard]] std::size_t owner(const std::string& key);
  // A name that is not in use, of a lock that this node keeps. Throws std::runtime_error if it
  // keeps no slots, as after a failover.
  [[nodiscard]] std::string name_on(std::size_t node);
  [[nodiscard]] int slot_of(const std::string& key);

  // A command to the owner of `key`, as Server::command.
  std::string command(const std::string& key, const std::vector<std::string>& args);
  // All keys of all masters that run, sorted.
  [[nodiscard]] std::vector<std::string> keys();

  // Moves a slot, in steps: opens it, moves the keys that there are, ends the move.
  void begin_move(const std::string& key, std::size_t to);
  void move_keys(const std::string& key, const std::vector<std::string>& keys, std::size_t to);
  void end_move(const std::string& key, std::size_t to);
  // All of that with all its keys.
  void move_slot(const std::string& key, std::size_t to);

  // Waits until another node than `before` owns the slot of `key`, the nodes that run agree on that
  // and serve all slots. False after 30 s.
  [[nodiscard]] bool wait_for_takeover(const std::string& key, std::size_t before);
  // Waits until all nodes run in peace: all slots served, each master with a replica in step.
  [[nodiscard]] bool wait_until_whole();

 private:
  [[nodiscard]] std::string id(std::size_t node);
  [[nodiscard]] std::size_t number_of(const std::string& port) const;
  [[nodiscard]] std::size_t owner_seen_by(std::size_t node, int slot);
  [[nodiscard]] bool is_whole();

  std::deque<std::unique_ptr<Server>> nodes_;
  int names_ = 0;
};

}  // namespace rlock::test
