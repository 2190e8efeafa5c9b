// The problems of a lock, as facts. cli/output/problem_text has the sentences and the commands.
// `k_code` is the published name of a problem (rlock-inspect-queue(1), rlock-doctor(1)).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "lock/inspection/server_info.hpp"
#include "lock/words/owner.hpp"

namespace rlock::lock {

// The first of several members or keys, and how many there are (at least one).
struct Several {
  std::string first;
  std::size_t count = 1;
};

struct NoExpiry {
  static constexpr const char* k_code = "no_expiry";
  // holders: several owners hold the lock at once. number: may also be a semaphore of another
  // client. any_string, any_number, any_hash: nothing shows that the string or hash is a lock.
  enum class Of { lock, holders, string, number, any_string, any_number, any_hash };
  Of of = Of::lock;
  std::optional<Several> permits{};  // the owners of a semaphore's permits that never end
};

// A process of this host that ended without a release.
struct DeadHolder {
  static constexpr const char* k_code = "dead_holder";
  // shared: other owners may hold the lock, too, or other fields of the hash are an application's.
  enum class Of { lock, string, shared };
  std::string owner;
  std::int64_t pid = 0;
  std::optional<Milliseconds> left;  // of its hold; nothing: it has no expiry
  Of of = Of::lock;
};

// A holder that has missed a renewal: its host may be down, cut off, or suspended.
struct RenewalOverdue {
  static constexpr const char* k_code = "renewal_overdue";
  std::string owner;
  About about;
  Milliseconds since{0};   // since the last renewal, at least
  Milliseconds period{0};  // between two renewals
  Milliseconds left{0};    // of its hold
  DeadHolder::Of of = DeadHolder::Of::lock;
};

// A key whose value has a type that no lock uses.
struct WrongKind {
  static constexpr const char* k_code = "wrong_kind";
  std::string key;
  std::string type;  // as from TYPE
};

// Two kinds of lock under one name.
struct MixedKinds {
  static constexpr const char* k_code = "mixed_kinds";
  // beside_writer, beside_reader: `holders` hold the lock, but another owner writes, or reads. The
  // others: there is a queue of a fair lock, but the lock has another kind. reentrant: `holders`
  // hold it as a plain lock.
  enum class Mix { beside_writer, beside_reader, read_write, string, reentrant };
  Mix mix = Mix::beside_writer;
  std::optional<Several> holders{};
};

struct DeadHead {
  static constexpr const char* k_code = "dead_head";
  std::string owner;
  std::optional<Milliseconds> left{};  // until its deadline; nothing: passed, or no deadline
  bool can_be_evicted = true;          // false: another kind of lock uses the name
  std::size_t dead = 1;                // how many waiters are dead
  std::size_t waiters = 1;             // how many there are
};

// Holders of a read/write lock that have no reader's key: dead readers, or holders of another kind
// of lock.
struct DeadReaders {
  static constexpr const char* k_code = "dead_reader";
  Several readers;
  bool are_all = false;  // no other owner holds the lock
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

// The counter of fencing tokens is not a number.
struct BadToken {
  static constexpr const char* k_code = "bad_token";
  std::string key;
};

// No counting leads that far: a client has written the counter. Tokens end at 2^63-1.
struct TokenTooHigh {
  static constexpr const char* k_code = "token_too_high";
  std::int64_t counter = 0;
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
  std::int64_t made_with = 0;  // the --permits of the run that created the semaphore
};

// A number with an expiry, and no other key beside it: a string lock, or a semaphore that has lost
// its permits and its side key.
struct LoneNumber {
  static constexpr const char* k_code = "lone_number";
  Milliseconds left{0};
};

// Latches without an expiry.
struct LeakedLatches {
  static constexpr const char* k_code = "leaked_latch";
  Several keys;
};

// A side key without an expiry.
struct LastingInfo {
  static constexpr const char* k_code = "lasting_info";
  std::string key;
};

// Somebody waits for a release although the lock is free.
struct SleepingWaiter {
  static constexpr const char* k_code = "sleeping_waiter";
  enum class Beside { free_lock, free_permit, nothing };
  Beside beside = Beside::free_lock;
  std::int64_t permits = 0;  // the semaphore's total; 0: not known
};

// Waiters that may be alive or dead. They ask for the lock only when somebody calls them, and their
// deadlines have not passed.
struct UnknownWaiters {
  static constexpr const char* k_code = "unknown_waiters";
  // Why it is not known who listens for them. elsewhere: clients may listen at other servers.
  // beyond: they stand too far back in the queue. not_permitted: the user is not allowed to ask.
  // stale: the server is a replica that does not hear from its master.
  enum class Because { elsewhere, beyond, not_permitted, stale };
  Several waiters;
  Because because = Because::elsewhere;
  // Where they may listen, if that is known: the master, or the replicas, of the server.
  std::vector<Replication::Address> servers{};
};

using Problem =
    std::variant<NoExpiry, DeadHolder, RenewalOverdue, WrongKind, MixedKinds, DeadHead, DeadReaders,
                 MembersWithoutScore, ScoresWithoutMember, DeadlinesFarAhead, BadToken,
                 TokenTooHigh, TokenExpires, TokenBehind, EndedPermits, PermitsDiffer, LoneNumber,
                 LeakedLatches, LastingInfo, SleepingWaiter, UnknownWaiters>;

// Returns the `k_code` of the facts.
template <typename... Facts>
[[nodiscard]] std::string code_of(const std::variant<Facts...>& facts) {
  return std::visit([](const auto& one) { return one.k_code; }, facts);
}

}  // namespace rlock::lock
