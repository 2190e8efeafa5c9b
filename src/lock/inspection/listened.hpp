// Locks whose release channel has a listener.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "lock/inspection/snapshot.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

// Lock names, by the kind of channel that has a listener. A name may be in both sets.
struct Listened {
  std::set<std::string> locks;  // includes read/write locks
  std::set<std::string> semaphores;

  void merge(Listened other) {
    locks.merge(other.locks);
    semaphores.merge(other.semaphores);
  }
};

// Returns the locks whose channels have listeners: among all locks, or only for `name`. Channels of
// single waiters do not count. A name with a brace is found only by `name`. With `is_sharded`,
// counts also listeners of the server's shard of a cluster. Empty if the user is not allowed to
// ask. Throws as redis::Client::command.
[[nodiscard]] Listened listened_locks(redis::Client& client, const std::optional<std::string>& name,
                                      bool is_sharded);

// Returns a note if somebody waits although the lock is free, or a permit is available. Otherwise
// returns nothing.
[[nodiscard]] std::optional<SleepingWaiter> find_sleepers(const Snapshot& snapshot,
                                                          const Listened& listened);

}  // namespace rlock::lock
