// The reentrant lock in Redisson's layout: one run's dealings with one lock.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lock/key_names.hpp"
#include "lock/lease.hpp"
#include "lock/owner.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

enum class Kind { reentrant, fair };

// Returns the kind's name, as in the options, the environment and the JSON.
[[nodiscard]] std::string kind_name(Kind kind);

// Somebody else holds the lock, or it is somebody else's turn.
struct Busy {
  std::optional<Milliseconds> ttl;  // nothing: it has no expiry; 0 where it is free
  std::string owner;                // empty where unknown, and so are the fields of `holder`
  About holder;
  std::optional<Milliseconds> held_for;
  std::optional<int> place;               // in the queue of a fair lock, where 0 is the head
  std::optional<Milliseconds> ask_after;  // if so, when to ask again although nobody calls

  // Whether only others' turns are in the way.
  [[nodiscard]] bool is_free() const { return ttl == Milliseconds(0) && owner.empty(); }
};

// Whether to queue for a fair lock that is busy. One who does not subscribe first can be called
// before he listens.
enum class Join { no, yes };

enum class Renewal { renewed, lost };
enum class Release { freed, still_held, not_held };

// Every request may be sent again after a lost reply: it counts once. All of them throw
// redis::Unavailable, redis::ServerError, redis::ProtocolError and redis::Interrupted, and
// Error (wrong_kind) if the name is in use by another kind of lock.
class ReentrantLock {
 public:
  ReentrantLock(const std::string& name, std::string owner, const About& about, Milliseconds lease);
  ReentrantLock(const ReentrantLock&) = delete;
  ReentrantLock& operator=(const ReentrantLock&) = delete;
  virtual ~ReentrantLock() = default;

  [[nodiscard]] const std::string& name() const noexcept { return keys_.lock; }
  [[nodiscard]] const std::string& owner() const noexcept { return owner_; }
  [[nodiscard]] Milliseconds lease() const noexcept { return lease_; }
  [[nodiscard]] virtual Kind kind() const noexcept { return Kind::reentrant; }
  // Returns the channel on which a waiter is called.
  [[nodiscard]] virtual std::string channel() const { return keys_.channel; }
  // Returns whether a request has found the name in use for plain and fair locks at once.
  [[nodiscard]] bool is_mixed() const noexcept { return is_mixed_; }

  // Takes the lock if it is free. Call it again after Busy, or where the lease came too late.
  [[nodiscard]] virtual std::variant<Lease, Busy> try_acquire(redis::Client& client, Join join);

  // Adds a hold for an owner who holds the lock already. Returns nothing if he does not.
  [[nodiscard]] std::optional<Lease> reenter(redis::Client& client);

  // Extends the lease, never shortens it. `deadline`, if given, bounds the request and receives the
  // lease's new end. Thread-safe, with a client of the thread's own.
  [[nodiscard]] Renewal renew(redis::Client& client, TimePoint* deadline = nullptr) const;

  // Returns whether the owner holds the lock, and changes nothing.
  [[nodiscard]] Renewal ask(redis::Client& client) const;

  // Gives this hold back. With `keep`, the lock stays taken for so long all the same.
  Release release(redis::Client& client, Milliseconds keep = Milliseconds(0));

  // Gives the hold back where the outcome of a request is unknown, as far as the server can still
  // be reached, in a quarter of a second at the most. Does nothing where there is no such request.
  void abandon(redis::Client& client, Milliseconds keep = Milliseconds(0)) noexcept;

  // Ends a wait: abandons the request, and gives the place in the queue back.
  virtual void give_up(redis::Client& client) noexcept { abandon(client); }

 protected:
  // Sends an acquire script. `more` follows the arguments that all of them have.
  [[nodiscard]] std::variant<Lease, Busy> request(redis::Client& client,
                                                  const redis::Script& script,
                                                  std::vector<std::string> more_keys,
                                                  const std::vector<std::string>& more);

  [[nodiscard]] const KeyNames& keys() const noexcept { return keys_; }

 private:
  // Returns what this owner adds to the deadlines of those who queue behind it.
  [[nodiscard]] virtual Milliseconds added_wait() const noexcept { return Milliseconds(0); }
  [[nodiscard]] redis::ScriptArgs release_args(Milliseconds keep) const;
  [[nodiscard]] redis::Reply run(redis::Client& client, const redis::Script& script,
                                 const redis::ScriptArgs& call);

  KeyNames keys_;
  std::string owner_;
  std::string about_;  // as the side key is to tell it
  Milliseconds lease_;
  std::string hold_id_;
  bool is_mixed_ = false;
  int unanswered_ = 0;  // requests that changed something, or not
};

}  // namespace rlock::lock
