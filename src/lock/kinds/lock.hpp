// One run's requests about one lock, of any kind and on any servers.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "lock/servers/session.hpp"
#include "lock/words/busy.hpp"
#include "lock/words/hold.hpp"
#include "lock/words/kind.hpp"
#include "lock/words/lease.hpp"

namespace rlock::lock {

// Whether the owner waits if the lock is busy.
enum class Join {
  no,
  yes,     // joins the queue of a fair lock. Subscribe first: a call that comes earlier is missed
  called,  // as yes, after a message that the lock is free. The other waiters hear of this request
};

// The channel on which a waiter hears of a release.
struct Channel {
  std::string name;
  std::string taken{};  // the message that the lock is taken again; empty if there is none
};

enum class Renewal { renewed, lost };
enum class Release { freed, still_held, not_held };

// Every request may be sent again after a lost reply: it counts once. All requests throw
// redis::Unavailable, redis::ServerError, redis::ProtocolError and redis::Interrupted. They throw
// Error (wrong_kind) if another kind of lock uses the name.
class Lock {
 public:
  Lock() = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  virtual ~Lock() = default;

  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
  [[nodiscard]] virtual const std::string& owner() const noexcept = 0;
  [[nodiscard]] virtual Milliseconds lease() const noexcept = 0;
  [[nodiscard]] virtual Kind kind() const noexcept = 0;
  // Returns the longest time between two renewals.
  [[nodiscard]] virtual Milliseconds renewal_interval() const noexcept { return lease() / 3; }
  // Returns the channel on which this waiter is called.
  [[nodiscard]] virtual Channel channel() const = 0;
  // Returns whether a request has found plain and fair runs of the name at once.
  [[nodiscard]] bool is_mixed() const noexcept { return (marks() & 1) != 0; }
  // Returns whether a request has found the name's twin in use (see brace_alias).
  [[nodiscard]] bool has_twin() const noexcept { return (marks() & 2) != 0; }
  // Returns the marks of all requests so far (see lua/include/taking.lua).
  [[nodiscard]] virtual int marks() const noexcept = 0;

  // Takes the lock if it is free. Call it again after Busy, or if the lease expired in transit.
  [[nodiscard]] virtual std::variant<Hold, Busy> try_acquire(Session& session, Join join) = 0;

  // Adds a hold. Returns nothing if the owner does not hold the lock.
  [[nodiscard]] virtual std::optional<Hold> reenter(Session& session) = 0;

  // Extends the lease, never shortens it. If `deadline` is given, it limits the request, and
  // receives the new deadline of the lease. Thread-safe, if each thread has its own session.
  [[nodiscard]] virtual Renewal renew(Session& session, TimePoint* deadline) const = 0;

  // Returns whether the owner holds the lock. Changes nothing.
  [[nodiscard]] virtual Renewal ask(Session& session) const = 0;

  // For a hold that other processes know, too. Returns whether the server remembers that this hold
  // was released while the owner still had other holds.
  [[nodiscard]] virtual bool has_ended(Session& session) const = 0;

  // Releases this hold. The lock still stays on the server for `keep`.
  virtual Release release(Session& session, Milliseconds keep) = 0;

  // Releases the hold if the outcome of a request is unknown, and otherwise does nothing. A best
  // effort, for a quarter of a second at most.
  virtual void abandon(Session& session) noexcept = 0;

  // Ends a wait: abandons the request, and leaves the queue.
  virtual void stop_waiting(Session& session) noexcept = 0;
};

}  // namespace rlock::lock
