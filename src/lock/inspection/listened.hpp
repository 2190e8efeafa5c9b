// Locks for whose release somebody listens.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "lock/inspection/snapshot.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

// Names by the kind of channel on which somebody listens; a name may be in both.
struct Listened {
  std::set<std::string> locks;  // also read/write locks
  std::set<std::string> semaphores;

  void merge(Listened other) {
    locks.merge(other.locks);
    semaphores.merge(other.semaphores);
  }
};

// Returns the names of the locks on whose channel, of any kind but that of a single waiter,
// somebody listens: of all locks, or of `name`. Those whose name has a brace are only found by
// name. With `is_sharded`, also of those who listen to the server's shard of a cluster. Empty where
// the user may not ask. Throws as redis::Client::command.
[[nodiscard]] Listened listened_locks(redis::Client& client, const std::optional<std::string>& name,
                                      bool is_sharded);

// Returns the note that somebody waits although the lock is free, or a permit available; otherwise
// nothing.
[[nodiscard]] std::optional<SleepingWaiter> find_sleepers(const Snapshot& snapshot,
                                                          const Listened& listened);

}  // namespace rlock::lock
