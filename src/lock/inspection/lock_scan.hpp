// Finds the locks on a server, step by step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "lock/inspection/server_info.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

// Globs, as for the server's MATCH.
struct LockPatterns {
  std::string names = "*";    // which locks to find
  std::string simple;         // which strings count as locks; empty: none
  bool counts_alike = false;  // whether to count strings that look like locks; not with `simple`
};

// Searches all keys of one server, or of one master of a cluster. Keeps only the names of locks in
// memory. Blocks the server for about a millisecond a step, whatever keys it has.
class LockScan {
 public:
  // `client` must outlive this object.
  LockScan(redis::Client& client, LockPatterns patterns);

  [[nodiscard]] bool is_done() const noexcept { return is_done_; }

  // Looks at some more keys. Returns new names, each once a scan. Take a snapshot to learn the kind
  // of each, or that there is no lock. Throws as redis::Client::run, and redis::Unavailable if the
  // server was restarted since the last step, because its cursors are then void.
  [[nodiscard]] std::vector<std::string> next();

  // Returns about how many keys the scan has looked at, and how many the server has (nothing:
  // unknown).
  [[nodiscard]] std::int64_t looked_at() const noexcept;
  [[nodiscard]] std::optional<std::int64_t> total() const noexcept { return total_; }
  // Returns how many keys may be locks but were not read: the user has no right, or they are too
  // large.
  [[nodiscard]] std::int64_t unread() const noexcept { return unread_; }
  // Returns how many strings look like locks, but are not among those that were found.
  // k_most_alike: there may be more.
  static constexpr std::size_t k_most_alike = 1000;
  [[nodiscard]] std::size_t alike() const;
  // What the server said of itself at the first step: nothing if the user is not allowed to ask.
  [[nodiscard]] const std::optional<Replication>& replication() const { return replication_; }
  // Returns the databases that have keys, if this one has none. Otherwise returns nothing.
  [[nodiscard]] const std::vector<Database>& other_databases() const { return others_; }

 private:
  redis::Client& client_;
  LockPatterns patterns_;
  std::vector<std::string> cursors_;  // opaque, for the script
  std::optional<std::string> run_;    // the run of the server
  std::unordered_set<std::string> seen_;
  std::int64_t steps_ = 0;
  std::optional<std::int64_t> total_;
  std::int64_t unread_ = 0;
  std::unordered_set<std::string> alike_;
  std::optional<Replication> replication_;
  std::vector<Database> others_;
  bool is_done_ = false;
};

}  // namespace rlock::lock
