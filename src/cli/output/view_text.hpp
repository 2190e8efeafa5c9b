// What a reader must know of the place that was looked at: a replica, an empty database, a name
// that looks like a pattern.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/output/remedy.hpp"
#include "lock/inspection/lock_scan.hpp"
#include "lock/inspection/snapshot.hpp"

namespace rlock::cli {

// Returns "held" or "free", or "unknown" if the lock seems free at a replica that does not hear
// from its master.
[[nodiscard]] std::string state_name(const lock::Snapshot& snapshot);

// Returns "not a lock, but a list", or nothing if the name is a lock's, may be one's, or is free.
[[nodiscard]] std::optional<std::string> describe_no_lock(const lock::Snapshot& snapshot);

// Returns "127.0.0.1:6379". Harmless for a terminal.
[[nodiscard]] std::string describe_address(const lock::Replication::Address& address);

// Returns what to say of a replica, such as "a replica of 127.0.0.1:6379, cut off from it for at
// least 4m12s: what it shows is that old". `replication` must have a master.
[[nodiscard]] std::string describe_replica(const lock::Replication& replication);

// Returns "database 0 is empty, but database 3 has 12 keys". `others` must not be empty.
[[nodiscard]] std::string describe_databases(std::int64_t number,
                                             const std::vector<lock::Database>& others);

// Returns lines for stderr about the server: that it is a replica, or that its database is empty.
// `others`: the databases that have keys, if this one has none. `words`: the command for another
// database.
[[nodiscard]] std::vector<std::string> describe_view(
    const std::optional<lock::Replication>& replication, const std::vector<lock::Database>& others,
    const Remedies& remedies, const std::string& words);

// Returns a line if nothing has this name, which looks like a pattern. Otherwise returns nothing.
[[nodiscard]] std::optional<std::string> describe_pattern(const lock::Snapshot& snapshot,
                                                          const Remedies& remedies);

// How many strings look like locks, by the scans of all masters.
struct AlikeStrings {
  std::size_t count = 0;
  bool may_be_more = false;

  void add(const lock::LockScan& scan);
  // Returns "2 strings look like locks", with `link` before the verb, such as " that".
  [[nodiscard]] std::string describe(const std::string& link) const;
};

// Returns both for a snapshot.
[[nodiscard]] std::vector<std::string> describe_view(const lock::Snapshot& snapshot,
                                                     const Remedies& remedies);

}  // namespace rlock::cli
