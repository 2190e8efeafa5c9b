// What each kind of lock sends, as src/lock does, and what its keys say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "explore/store.hpp"
#include "lua_scripts.hpp"

namespace rlock::explore {

// simple: a string. service: a semaphore that another client created. mixed: a plain lock that
// every second client takes with Redisson's scripts; mixed_fair: a fair one.
enum class Kind { plain, fair, simple, read_write, semaphore, service, mixed, mixed_fair };

[[nodiscard]] std::optional<Kind> kind_of(const std::string& name);
[[nodiscard]] const char* name_of(Kind kind);
[[nodiscard]] bool is_semaphore(Kind kind);
[[nodiscard]] bool is_mixed(Kind kind);
[[nodiscard]] bool is_fair(Kind kind);

constexpr std::int64_t k_lease_ms = 10'000;
// --at-least of an outer run, and of an inner one.
constexpr std::int64_t k_keep_ms = 4'000;
constexpr std::int64_t k_inner_keep_ms = 12'000;
constexpr std::int64_t k_timeout_ms = 1'000;
// As in lock/servers/question.hpp.
constexpr std::int64_t k_longest_way_ms = 30'000;
constexpr std::int64_t k_memory_ms = 2 * k_timeout_ms + 60'000 + k_longest_way_ms;
constexpr std::int64_t k_fair_wait_ms = 15'000;

inline const Key k_lock("L");
inline const Key k_info("rlock_info:{L}");
inline const Key k_queue("redisson_lock_queue:{L}");
inline const Key k_scores("redisson_lock_timeout:{L}");
inline const Key k_token("redisson_lock_token:{L}");
inline const Key k_permits("{L}:timeout");
inline const std::string k_latch = "redisson_unlock_latch:{L}:";
inline const std::string k_reader_prefix = "{L}:";

// One hold of an owner: a run, or one that is nested in it.
struct Hold {
  std::string id{};
  bool is_redissons = false;   // it speaks Redisson's scripts
  bool writes = false;         // of the two sides of a read/write lock
  bool is_reentered = false;   // the owner had the lock before
  bool is_outer = false;       // a string that belongs to the outer hold
  bool is_unproven = false;    // only the latch tells whether it was granted
  bool is_unanswered = false;  // a request of its was: it may still be under way
  bool is_known = false;       // to other processes, which may give it back, too
  bool is_returned = false;    // a release was carried out, but its reply was lost
};

// One script call, as it was sent.
struct Sent {
  std::string script;
  Words keys, args;
};

[[nodiscard]] Sent sent(const redis::ScriptCall& call);

class Layout {
 public:
  Layout(Kind of, int count_of_permits, bool has_families = false)
      : kind(of), permits(count_of_permits), is_family(has_families) {}

  [[nodiscard]] Sent take(const std::string& owner, const Hold& hold) const;
  [[nodiscard]] Sent reenter(const std::string& owner, const Hold& hold) const;
  // A lease of 0 only asks.
  [[nodiscard]] Sent renew(const std::string& owner, const Hold& hold, std::int64_t lease) const;
  // `keep_ms`: for how long the lock is to stay all the same (--at-least).
  [[nodiscard]] Sent release(const std::string& owner, const Hold& hold,
                             std::int64_t keep_ms) const;
  // Breaks the lock if nobody else than these has it. `request`: its identifier.
  [[nodiscard]] Sent force(const std::string& request, const Words& owners) const;
  [[nodiscard]] Sent evict(const std::string& request, const std::string& waiter) const;
  // One of Redisson's leaves the queue.
  [[nodiscard]] static Sent give_up(const std::string& waiter);
  // The two requests of doctor --repair. A queue fits into one.
  [[nodiscard]] static Sent repair_queue();
  [[nodiscard]] static Sent repair(const Words& orphans);
  // Whether a reply to one of them says that all is well.
  [[nodiscard]] static bool finds_nothing(const Reply& reply);
  // What Redisson's reply to this says, as rlock's scripts say it.
  [[nodiscard]] static Reply as_ours(const Sent& sent, const Reply& reply);
  // Where a waiter listens.
  [[nodiscard]] std::string channel(const std::string& waiter) const;

  // Everybody who has the lock, by the names that the keys have.
  [[nodiscard]] Words holders(const Store& store) const;
  // How many holds the keys count for an owner, on one side of a read/write lock.
  [[nodiscard]] int count(const Store& store, const std::string& owner, bool writes) const;
  // Whether the keys say that this hold is there.
  [[nodiscard]] bool has(const Store& store, const std::string& owner, const Hold& hold) const;
  // How long (ms) the keys keep it.
  [[nodiscard]] std::int64_t left(const Store& store, const std::string& owner,
                                  const Hold& hold) const;

  const Kind kind;
  const int permits;          // of a semaphore
  const bool is_family;       // nested runs are processes of their own
  bool draws_tokens = true;   // where the kind can
  bool lacks_memory = false;  // the server, at times
  bool is_set_back = false;   // the server's clock, at times
  bool loses_ends = false;    // somebody takes a key's expiry away, at times
  std::string lacks{};        // a command that every second client has no right to
  bool is_calm = false;       // clients only take, ask and release
  std::int64_t skew_ms = 0;   // how far the clock of Redisson's clients is ahead

 private:
  [[nodiscard]] bool fences(const Hold& hold) const;
  [[nodiscard]] Sent take_as_redisson(const std::string& owner) const;
  [[nodiscard]] Sent take_read_write(const std::string& owner, const Hold& hold) const;
};

// Returns the key with this name, or null.
[[nodiscard]] const Value* find(const Store& store, const std::string& name);
[[nodiscard]] bool stands_in_queue(const Store& store, const std::string& owner);
[[nodiscard]] std::string hold_key(const std::string& reader, int hold);

}  // namespace rlock::explore
