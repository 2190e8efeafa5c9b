// What people on call do to a lock of others: break it, or take a waiter out of its queue.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lock/inspection/snapshot.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

// What is to be broken under a name. Any application may keep a string there, so a string is a lock
// only if the user says so.
enum class Breakable { lock, simple };

// A lock as a request found it. Times are milliseconds of the server's clock since 1970.
struct FoundLock {
  std::int64_t time_ms = 0;
  std::int64_t ttl_ms = -1;     // -1: no expiry
  std::vector<Holder> holders;  // none: it is free
  bool is_any_string = false;   // as in Snapshot; but the owner is the whole value
  std::int64_t queued = 0;      // waiters in its queue
  // Subscriptions of other waiters, and of who watches; nothing: this user may not ask.
  std::optional<std::int64_t> listening{};
};

struct Breaking {
  enum class Outcome { broken, free, held_by_others };
  Outcome outcome = Outcome::free;
  FoundLock found;  // before the lock was broken
};

// All functions throw redis::Unavailable, redis::ServerError, redis::ProtocolError,
// redis::Interrupted, and Refused for what is not a lock. They need a client for large replies: a
// lock can have many readers.

// Returns who holds the lock; changes nothing.
[[nodiscard]] FoundLock look_at(redis::Client& client, const std::string& name, Breakable what);

[[nodiscard]] std::vector<std::string> owners_of(const FoundLock& found);

// Breaks the lock, and wakes the waiters of every kind, also of a free lock. With `expected`, only
// if all holders are among these owners. Without, whoever holds it, unless the holders change each
// time that it looks. May be sent again after a lost reply: it counts once.
[[nodiscard]] Breaking break_lock(
    redis::Client& client, const std::string& name, Breakable what,
    const std::optional<std::vector<std::string>>& expected = std::nullopt);

struct Eviction {
  Party waiter;
  std::optional<std::size_t> position;  // 1 was next; nothing: a deadline without a place
  std::optional<bool> alive;            // nothing: it cannot be told
};

// Takes a waiter out of the queue of a fair lock. The deadlines behind it are lowered by what it
// had added; where the lock is free, the next is called. A holder is never touched. May be sent
// again. Returns nothing if it does not wait.
[[nodiscard]] std::optional<Eviction> evict(redis::Client& client, const std::string& name,
                                            const std::string& waiter);

}  // namespace rlock::lock
