#include "cli/output/problem_text.hpp"

#include "base/duration.hpp"
#include "base/shell_quote.hpp"
#include "base/wording.hpp"
#include "cli/output/holder_text.hpp"
#include "lock/words/key_names.hpp"

namespace rlock::cli {
namespace {

std::string named(const lock::Several& several) { return first_of(several.first, several.count); }

Hint advice(const std::string& text) { return {Hint::Kind::advice, text}; }

constexpr const char* k_from_clock =
    "tokens then go on from the server's clock; a resource must forget a higher one";

// The words of each problem of one lock, without its code.
struct LockWording {
  const std::string& name;
  const std::optional<lock::Replication>& replication;
  const Remedies& remedies;

  ProblemText operator()(const lock::NoExpiry& it) const {
    using Of = lock::NoExpiry::Of;
    if (it.permits) {
      return {"a permit has no expiry and will never end by itself: that of " + named(*it.permits),
              release(it.permits->first, "if its holder is gone")};
    }
    const bool is_any = it.of == Of::any_string || it.of == Of::any_number;
    if (it.of == Of::any_hash) {
      return {"a hash; if it is a lock, it has no expiry and will never end by itself",
              advice(k_break_any_hash)};
    }
    const bool is_number = it.of == Of::number || it.of == Of::any_number;
    return {std::string(is_any ? "a string; if it is a lock, it" : "the lock") +
                " has no expiry and will never end by itself" +
                (is_number ? ", unless it is a semaphore of another client" : ""),
            is_any                 ? advice(k_break_any_string)
            : it.of == Of::holders ? force("only if all its holders are gone")
                                   : force("if its holder is gone", it.of == Of::lock)};
  }

  ProblemText operator()(const lock::DeadHolder& it) const {
    using Of = lock::DeadHolder::Of;
    constexpr const char* k_if = "only if its command is gone, too";
    return {"the holder " + it.owner + ", process " + std::to_string(it.pid) +
                " of this host, is dead; its command may go on until the lock ends" +
                (it.left ? " in " + format_duration(*it.left) : ""),
            // Takes the lock from no other holder.
            it.of == Of::shared ? release(it.owner, k_if) : force(k_if, it.of == Of::lock)};
  }

  ProblemText operator()(const lock::RenewalOverdue& it) const {
    const std::string if_gone =
        it.about.host.empty()
            ? "only if its host is down or its command is gone"
            : "look at " + it.about.host + " first: only if it is down or the command is gone";
    return {"not renewed for " + format_duration(it.since) + ", due every " +
                format_duration(it.period) + ": the holder " + describe_holder(it.owner, it.about) +
                " is down, cut off or suspended; the lock ends by itself in " +
                format_duration(it.left) + ", unless it is renewed",
            it.of == lock::DeadHolder::Of::shared ? release(it.owner, if_gone)
                                                  : force_of(it.owner, if_gone, it.of)};
  }

  ProblemText operator()(const lock::WrongKind& it) const {
    const bool is_hash_of_lock = it.key == name && it.type == "hash";
    return {it.key + " is a " + it.type + (is_hash_of_lock ? " that is not a lock" : ""),
            advice("no lock keeps such a value there; find out what wrote it")};
  }

  ProblemText operator()(const lock::MixedKinds& it) const {
    return {describe(it),
            advice(it.mix == lock::MixedKinds::Mix::reentrant
                       ? "use --fair everywhere for this name, or nowhere: the runs exclude each "
                         "other, but only those with --fair queue"
                       : "use one kind for this name everywhere: locks of two kinds do not wake "
                         "each other's waiters, and can release each other")};
  }

  ProblemText operator()(const lock::DeadHead& it) const {
    const std::string which =
        it.dead == 1 ? "the first waiter, " + it.owner + ", is dead: nobody listens on its channel"
                     : describe_dead(it.dead, it.waiters) + ", first " + it.owner +
                           ": they ended without leaving the queue";
    return {which + (it.left ? "; waiters of Redisson wait for " +
                                   std::string(it.dead == 1 ? "it" : "the first") +
                                   " for another " + format_duration(*it.left)
                             : ""),
            !it.can_be_evicted ? repair()
            : it.dead == 1     ? evict(it.owner)
                               : rlock("evict --dead " + shell_operands({name}))};
  }

  ProblemText operator()(const lock::DeadReaders& it) const {
    return {
        "a reader is dead, because all keys of its holds have expired, or it has the lock as "
        "another kind: " +
            named(it.readers),
        it.are_all ? force("only if none of them is alive")
                   : advice("the lock ends when its last living reader releases it")};
  }

  ProblemText operator()(const lock::MembersWithoutScore& it) const {
    return {"in the queue without a deadline: " + named(it.members) +
                "; Redisson does not get past it at the head",
            repair()};
  }

  ProblemText operator()(const lock::ScoresWithoutMember& it) const {
    return {"a deadline of a waiter that is not in the queue: " + named(it.members) +
                "; if it is alive, Redisson never grants it the lock",
            repair()};
  }

  ProblemText operator()(const lock::DeadlinesFarAhead& it) const {
    return {"a deadline that is too far ahead: " + named(it.waiters) +
                "; the clock of its host may be wrong",
            evict(it.waiters.first, "if it is dead; otherwise set that clock")};
  }

  ProblemText operator()(const lock::BadToken& it) const {
    return {it.key + " is not a number: the lock cannot be taken with a fencing token",
            repair(k_from_clock)};
  }

  ProblemText operator()(const lock::TokenTooHigh& it) const {
    return {"the counter of fencing tokens is " + std::to_string(it.counter) +
                ", which no run can have drawn: the next tokens, if any are left, are as high",
            repair(k_from_clock)};
  }

  ProblemText operator()(const lock::TokenExpires& it) const {
    return {"the counter of fencing tokens expires in " + format_duration(it.left) +
                ", and should never expire",
            on_master("PERSIST " + shell_quote(it.key))};
  }

  ProblemText operator()(const lock::TokenBehind& it) const {
    const std::string token = std::to_string(it.token);
    return {"the counter of fencing tokens (" + std::to_string(it.counter) +
                ") is behind the token of the holder " + it.owner + " (" + token +
                "): an older token would be accepted",
            repair()};
  }

  ProblemText operator()(const lock::EndedPermits& it) const {
    return {plural(it.count, "permit") + " ended without a release, the first " +
                format_duration(it.first_ago) +
                " ago; the next request for a permit gives them back",
            repair()};
  }

  ProblemText operator()(const lock::PermitsDiffer& it) const {
    return {std::string("there ") +
                (it.total == 1 ? "is 1 permit" : "are " + std::to_string(it.total) + " permits") +
                ", but rlock set " + std::to_string(it.made_with) +
                ": another client has changed the number",
            advice("use the same number everywhere; the next run of rlock sets its own")};
  }

  ProblemText operator()(const lock::LoneNumber& it) const {
    return {"a number that ends in " + format_duration(it.left) +
                ", and no other key beside it: a string lock, or a semaphore that has lost its "
                "permits and its side key",
            on_master("DEL " + shell_quote(name),
                      "only if it is a semaphore, and no run has a permit")};
  }

  ProblemText operator()(const lock::LeakedLatches& it) const {
    return {"remembers a request forever, because it has no expiry: " + named(it.keys), repair()};
  }

  ProblemText operator()(const lock::LastingInfo& it) const {
    return {"describes holders and waiters forever, because it has no expiry: " + it.key, repair()};
  }

  ProblemText operator()(const lock::SleepingWaiter& it) const {
    using Beside = lock::SleepingWaiter::Beside;
    const std::string others =
        ", but a client listens for its release: rlock watch, or a waiter that missed its call "
        "(after DEL, for example) and sleeps on";
    if (it.beside == Beside::free_lock) {
      return {"the lock is free" + others, force("wakes the waiter")};
    }
    // The permit that comes back is what wakes.
    const bool is_known = it.permits > 0;
    return {(it.beside == Beside::free_permit ? "the semaphore has a permit available"
                                              : "there is no semaphore") +
                others,
            rlock("exec --permits " + (is_known ? std::to_string(it.permits) : "N") + " " +
                      shell_operands({name}) + " -- true",
                  is_known ? "wakes the waiter"
                           : "wakes the waiter; N: how many permits there should be")};
  }

  ProblemText operator()(const lock::UnknownWaiters& it) const {
    using Because = lock::UnknownWaiters::Because;
    const std::string text = "it is unknown whether " + plural(it.waiters.count, "waiter") +
                             (it.waiters.count == 1 ? " is" : " are") +
                             " alive: " + named(it.waiters) + "; ";
    if (it.because == Because::not_permitted) {
      return {text + "this user is not allowed to ask who listens",
              remedies.as_administrator("ACL SETUSER " + remedies.user() + " +pubsub")};
    }
    if (it.because == Because::beyond) {
      return {text + "rlock looks only at the first 1000 waiters of a queue",
              advice("look again when the queue is shorter")};
    }
    if (it.because == Because::stale) {
      const lock::Replication::Address& master = it.servers.at(0);
      return {
          text + "this replica no longer hears from its master",
          remedies.rlock_at(master.host, master.port, "inspect-queue " + shell_operands({name}))};
    }
    const std::string here = text + "nobody listens for " +
                             (it.waiters.count == 1 ? "it" : "them") + " at this server, but " +
                             (it.waiters.count == 1 ? "it" : "they") + " may listen at ";
    if (it.servers.empty()) {
      const std::string channel = lock::KeyNames(name).waiter_channel(it.waiters.first);
      return {here + "another one",
              remedies.redis_cli("PUBSUB NUMSUB " + shell_quote(channel),
                                 "at each replica and node: 0 at all of them means dead")};
    }
    const lock::Replication::Address& first = it.servers.front();
    return {here + first_of(first.host + ":" + std::to_string(first.port), it.servers.size()),
            remedies.rlock_at(first.host, first.port, "inspect-queue " + shell_operands({name}),
                              it.servers.size() > 1
                                  ? "and at each other replica: dead is what is alive at none"
                                  : "")};
  }

 private:
  static std::string describe(const lock::MixedKinds& it) {
    using Mix = lock::MixedKinds::Mix;
    const std::string holders = it.holders ? named(*it.holders) : "";
    if (it.mix == Mix::beside_writer || it.mix == Mix::beside_reader) {
      return std::string(it.mix == Mix::beside_writer ? "a writer has" : "readers have") +
             " the lock, but it is also held by " + holders + ", as a lock of another kind";
    }
    return (it.mix == Mix::read_write ? "a read/write lock"
            : it.mix == Mix::string   ? "a string lock"
                                      : "held as a reentrant lock by " + holders) +
           ", while others wait for it as a fair lock";
  }

  // The master, if the server that was looked at is a replica.
  [[nodiscard]] const lock::Replication::Address* master() const {
    return replication && replication->master ? &*replication->master : nullptr;
  }
  // redis-cli WORDS, where the server accepts writes.
  [[nodiscard]] Hint on_master(const std::string& words, const std::string& comment = "") const {
    return master() == nullptr
               ? remedies.redis_cli(words, comment)
               : remedies.redis_cli_at(master()->host, master()->port, words, comment);
  }
  // The command, where the server accepts writes, or why there is none.
  [[nodiscard]] Hint rlock(const std::string& words, const std::string& comment = "") const {
    try {
      lock::check_name(name);
    } catch (const Error&) {
      return advice(
          "rlock changes nothing of this name, because it could be a key of another lock");
    }
    return master() == nullptr ? remedies.rlock(words, comment)
                               : remedies.rlock_at(master()->host, master()->port, words, comment);
  }
  // `is_hash`: false for a string.
  [[nodiscard]] Hint force(const std::string& comment, bool is_hash = true) const {
    const std::string kind = is_hash ? "" : "--kind simple ";
    return rlock("unlock --force " + kind + shell_operands({name}), comment);
  }
  // Takes the lock only from this owner.
  [[nodiscard]] Hint force_of(const std::string& owner, const std::string& comment,
                              lock::DeadHolder::Of of) const {
    const std::string kind = of == lock::DeadHolder::Of::string ? "--kind simple " : "";
    return rlock(
        "unlock --force " + kind + "--owner " + shell_quote(owner) + " " + shell_operands({name}),
        comment);
  }
  [[nodiscard]] Hint release(const std::string& owner, const std::string& comment) const {
    return rlock("unlock --owner " + shell_quote(owner) + " " + shell_operands({name}), comment);
  }
  [[nodiscard]] Hint evict(const std::string& owner, const std::string& comment = "") const {
    return rlock("evict " + shell_operands({name, owner}), comment);
  }
  [[nodiscard]] Hint repair(const std::string& comment = "") const {
    return rlock("doctor --repair " + shell_operands({name}), comment);
  }
};

}  // namespace

ProblemText describe_problem(const lock::Problem& problem, const lock::Snapshot& of,
                             const Remedies& remedies) {
  ProblemText text = std::visit(LockWording{of.name, of.replication, remedies}, problem);
  text.code = lock::code_of(problem);
  return text;
}

std::vector<ProblemText> describe_problems(const std::vector<lock::Problem>& problems,
                                           const lock::Snapshot& of, const Remedies& remedies) {
  std::vector<ProblemText> texts;
  texts.reserve(problems.size());
  for (const lock::Problem& problem : problems) {
    texts.push_back(describe_problem(problem, of, remedies));
  }
  return texts;
}

std::string describe_left_out(std::int64_t keys) {
  return plural(static_cast<std::size_t>(keys), "key") + " left out: " +
         (keys == 1 ? "it cannot be read, or holds" : "they cannot be read, or hold") +
         " more than a lock does";
}

std::string describe_fix(const lock::Fix& fix) {
  const std::string which = named(fix.found);
  if (fix.code == lock::EndedPermits::k_code) return "given back, because ended: " + which;
  if (fix.code == lock::Fix::k_dead_waiter) return "removed from the queue, because dead: " + which;
  if (fix.code == lock::MembersWithoutScore::k_code) {
    return "removed from the queue, because without a deadline: " + which;
  }
  if (fix.code == lock::ScoresWithoutMember::k_code) {
    return "deleted, a deadline whose waiter is not in the queue: " + which;
  }
  if (fix.code == lock::TokenBehind::k_code) return "raised to the token of a holder: " + which;
  if (fix.code == lock::BadToken::k_code || fix.code == lock::TokenTooHigh::k_code) {
    return "set to the token of a holder or to the server's clock, from which tokens go on: " +
           which;
  }
  return "given an expiry: " + which;
}

}  // namespace rlock::cli
