// For people on call: breaks a lock of another owner, or removes a waiter from its queue.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lock/inspection/snapshot.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

// What to break under a name. Any application may keep a string or a hash there. So a string, or a
// hash whose owners do not look like owners, is a lock only if the user says so (simple, hash).
enum class ForceReleaseTarget { lock, simple, hash };

// A lock as a request found it. Times are milliseconds of the server's clock since 1970.
struct FoundLock {
  std::int64_t time_ms = 0;
  std::int64_t ttl_ms = -1;               // -1: no expiry
  std::vector<Holder> holders;            // none: it is free
  Ambiguity ambiguity = Ambiguity::none;  // as in Snapshot, but the owner is the whole value
  std::int64_t queued = 0;                // waiters in its queue
  // Subscriptions of waiters that do not queue, and of `rlock watch`. Nothing: the user is not
  // allowed to ask.
  std::optional<std::int64_t> listening{};
};

struct ForceRelease {
  enum class Outcome { broken, free, held_by_others };
  Outcome outcome = Outcome::free;
  FoundLock found;  // before the lock was broken
};

// All functions throw redis::Unavailable, redis::ServerError, redis::ProtocolError,
// redis::Interrupted, and Error (wrong_kind) if the name is not a lock. They need a client for
// large replies, because a lock can have many readers.

// Returns the lock and its holders. Changes nothing.
[[nodiscard]] FoundLock look_at(redis::Client& client, const std::string& name,
                                ForceReleaseTarget what);

[[nodiscard]] std::vector<std::string> owners_of(const FoundLock& found);

// Breaks the lock, and wakes the waiters of every kind, also if the lock is free. With `expected`,
// it breaks the lock only if all holders are among these owners. Without, it breaks the lock
// whatever its holders are, unless they change at each of its looks. May be sent again after a lost
// reply: it counts once.
[[nodiscard]] ForceRelease break_lock(
    redis::Client& client, const std::string& name, ForceReleaseTarget what,
    const std::optional<std::vector<std::string>>& expected = std::nullopt);

struct Eviction {
  Party waiter;
  std::optional<std::size_t> position;  // 1: the head; nothing: it had only a deadline
  std::optional<bool> alive;            // nothing: not known
};

// Removes a waiter from the queue of a fair lock. Lowers the deadlines behind it by the time that
// it had added. If the lock is free, calls the head. Never touches a holder. May be sent again.
// Returns nothing if `waiter` does not wait.
[[nodiscard]] std::optional<Eviction> evict(redis::Client& client, const std::string& name,
                                            const std::string& waiter);

struct DeadEvictions {
  std::size_t evicted = 0;
  std::size_t unknown = 0;  // waiters that are left although nobody knows whether they live
};

// Removes all dead waiters from the queue of a fair lock, and those of `gone`, which the caller
// knows to be dead. Otherwise as `evict`, but in several requests.
[[nodiscard]] DeadEvictions evict_dead(redis::Client& client, const std::string& name,
                                       const std::vector<std::string>& gone);

}  // namespace rlock::lock
