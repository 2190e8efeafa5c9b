// What can be wrong with a lock: the facts. cli/output/problem_text has the sentences and the
// commands. `k_code` is the published name of a problem (rlock-inspect-queue(1), rlock-doctor(1)).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.hpp"

namespace rlock::lock {

// The first of several members or keys, and how many there are: one at the least.
struct Several {
  std::string first;
  std::size_t count = 1;
};

struct NoExpiry {
  static constexpr const char* k_code = "no_expiry";
  // A number may also be a semaphore of another client; of any string nothing tells that it is a
  // lock. holders: several have it at once.
  enum class Of { lock, holders, string, number, any_string, any_number };
  Of of = Of::lock;
  std::optional<Several> permits{};  // of a semaphore: the owners of those that never end
};

// A process of this host that ended without a release.
struct DeadHolder {
  static constexpr const char* k_code = "dead_holder";
  enum class Of { lock, string, shared };  // shared: others may hold it beside him
  std::string owner;
  std::int64_t pid = 0;
  std::optional<Milliseconds> left;  // of its hold; nothing: it has no expiry
  Of of = Of::lock;
};

// A key with a value of a type that no lock keeps there.
struct WrongKind {
  static constexpr const char* k_code = "wrong_kind";
  std::string key;
  std::string type;  // as the server's TYPE has it
};

// Two kinds of lock under one name.
struct MixedKinds {
  static constexpr const char* k_code = "mixed_kinds";
  // beside_writer, beside_reader: `holders` hold it, but somebody else writes, or reads. The
  // others: there is a queue of a fair lock, but the lock is of another kind; as a reentrant one,
  // `holders` hold it.
  enum class Mix { beside_writer, beside_reader, read_write, string, reentrant };
  Mix mix = Mix::beside_writer;
  std::optional<Several> holders{};
};

struct DeadHead {
  static constexpr const char* k_code = "dead_head";
  std::string owner;
  std::optional<Milliseconds> left{};  // until its deadline; nothing: it has passed, or is none
  bool can_be_evicted = true;          // false: the name is in use by another kind
};

// Holders of a read/write lock who have no key of a reader: dead readers, or holders of another
// kind of lock.
struct DeadReaders {
  static constexpr const char* k_code = "dead_reader";
  Several readers;
  bool are_all = false;  // nobody else holds the lock
};

struct MembersWithoutScore {
  static constexpr const char* k_code = "member_without_score";
  Several members;
};

struct ScoresWithoutMember {
  static constexpr const char* k_code = "score_without_member";
  Several members;
};

struct DeadlinesFarAhead {
  static constexpr const char* k_code = "deadline_far_ahead";
  Several waiters;
};

// The counter of fencing tokens is no number.
struct BadToken {
  static constexpr const char* k_code = "bad_token";
  std::string key;
};

struct TokenExpires {
  static constexpr const char* k_code = "token_expires";
  std::string key;
  Milliseconds left{0};
};

// The counter is lower than the token of a holder.
struct TokenBehind {
  static constexpr const char* k_code = "token_behind";
  std::int64_t counter = 0;
  std::string owner;
  std::int64_t token = 0;
};

struct EndedPermits {
  static constexpr const char* k_code = "ended_permit";
  std::size_t count = 0;
  Milliseconds first_ago{0};
};

struct PermitsDiffer {
  static constexpr const char* k_code = "permits_differ";
  std::int64_t total = 0;
  std::int64_t made_with = 0;  // as rlock was told
};

// Keys that remember a request for ever.
struct LeakedLatches {
  static constexpr const char* k_code = "leaked_latch";
  Several keys;
};

// A side key without an expiry.
struct LastingInfo {
  static constexpr const char* k_code = "lasting_info";
  std::string key;
};

// Somebody listens for the release of what is free.
struct SleepingWaiter {
  static constexpr const char* k_code = "sleeping_waiter";
  enum class Beside { free_lock, free_permit, nothing };
  Beside beside = Beside::free_lock;
  std::int64_t permits = 0;  // of the semaphore; 0: not known
};

using Problem = std::variant<NoExpiry, DeadHolder, WrongKind, MixedKinds, DeadHead, DeadReaders,
                             MembersWithoutScore, ScoresWithoutMember, DeadlinesFarAhead, BadToken,
                             TokenExpires, TokenBehind, EndedPermits, PermitsDiffer, LeakedLatches,
                             LastingInfo, SleepingWaiter>;

// Returns the code of a problem, of a lock or of a server.
template <typename... Facts>
[[nodiscard]] std::string code_of(const std::variant<Facts...>& problem) {
  return std::visit([](const auto& facts) { return facts.k_code; }, problem);
}

}  // namespace rlock::lock
