// One run's dealings with one lock, wherever and however it is kept.
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
  yes,  // in the queue of a fair lock. Who does not subscribe first can be called before it listens
  called,  // as yes. It asks because it heard that the lock is free, and the others hear that it
           // asks
};

// Where a waiter hears of a lock.
struct Channel {
  std::string name;
  std::string taken{};  // the message that the lock is taken again; empty if there is none
};

enum class Renewal { renewed, lost };
enum class Release { freed, still_held, not_held };

// Every request may be sent again after a lost reply: it counts once. All of them throw
// redis::Unavailable, redis::ServerError, redis::ProtocolError and redis::Interrupted, and
// Error (wrong_kind) if the name is in use by another kind of lock.
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
  // Returns how often the lease is to be renewed.
  [[nodiscard]] virtual Milliseconds renewal_interval() const noexcept { return lease() / 3; }
  // Returns the channel on which a waiter is called.
  [[nodiscard]] virtual Channel channel() const = 0;
  // Returns whether a request has found the name in use for plain and fair locks at once.
  [[nodiscard]] bool is_mixed() const noexcept { return (marks() & 1) != 0; }
  // Returns whether a request has found the name's twin in use: see twin_of.
  [[nodiscard]] bool has_twin() const noexcept { return (marks() & 2) != 0; }
  // Returns what requests have found so far: the marks of lua/plain/acquire.lua.
  [[nodiscard]] virtual int marks() const noexcept = 0;

  // Takes the lock if it is free. Call it again after Busy, or where the lease came too late.
  [[nodiscard]] virtual std::variant<Hold, Busy> try_acquire(Session& session, Join join) = 0;

  // Adds a hold for an owner who holds the lock already. Returns nothing if he does not.
  [[nodiscard]] virtual std::optional<Hold> reenter(Session& session) = 0;

  // Extends the lease, never shortens it. `deadline`, if given, bounds the request and receives the
  // lease's new end. Thread-safe, with a session of the thread's own.
  [[nodiscard]] virtual Renewal renew(Session& session, TimePoint* deadline) const = 0;

  // Returns whether the owner holds the lock, and changes nothing.
  [[nodiscard]] virtual Renewal ask(Session& session) const = 0;

  // Returns whether the server remembers that this hold, one that other processes know, was given
  // back although the owner still had others.
  [[nodiscard]] virtual bool has_ended(Session& session) const = 0;

  // Gives this hold back. With `keep`, the lock stays taken for so long all the same.
  virtual Release release(Session& session, Milliseconds keep) = 0;

  // Gives the hold back where the outcome of a request is unknown, as far as the server can still
  // be reached, in a quarter of a second at the most. Does nothing where there is no such request.
  virtual void abandon(Session& session) noexcept = 0;

  // Ends a wait: abandons the request, and gives the place in the queue back.
  virtual void give_up(Session& session) noexcept = 0;
};

}  // namespace rlock::lock
