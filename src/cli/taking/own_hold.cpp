#include "cli/taking/own_hold.hpp"

#include <string_view>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/words.hpp"
#include "cli/output/holder_text.hpp"
#include "lock/servers/any_hash.hpp"
#include "lock/servers/kept_hold.hpp"

namespace rlock::cli {

OwnHold find_own_hold(const std::string& name, const std::optional<std::string>& owner,
                      const std::string& otherwise) {
  const auto entry = lock::find_held(from_environment(lock::k_held_variable).value_or(""), name);
  if (entry && (!owner || *owner == entry->owner)) {
    return {entry->owner, lock::holds_among(entry->runs, entry->owner)};
  }
  if (owner) return {*owner, {}};
  const auto told = from_environment("RLOCK_OWNER");
  if (told && from_environment("RLOCK_NAME") == name) return {*told, {}};
  throw Error(ExitStatus::usage,
              escape_for_terminal(name) +
                  ": no owner is known, because RLOCK_HELD does not name this lock; give "
                  "--owner ID" +
                  otherwise);
}

lock::Wish wish_for_own(const std::string& name, const OwnHold& own, const lock::Terms& terms,
                        lock::Session& session) {
  lock::refuse_any_hash(session, name, own.owner);
  lock::Wish wish{name, own.owner, {}, terms};
  wish.kind = lock::held_kind(session, name, own.owner);
  if (wish.kind != lock::Kind::reentrant || own.owner.size() != 2 * lock::k_redisson_permit_bytes) {
    return wish;
  }
  const auto permit = from_hex(own.owner);
  if (permit && lock::held_kind(session, name, *permit) == lock::Kind::semaphore) {
    wish.owner = *permit;
    wish.kind = lock::Kind::semaphore;
  }
  return wish;
}

std::optional<std::string> describe_kept_hold(const std::string& name, const OwnHold& own,
                                              lock::Session& session) {
  if (!own.holds.empty()) return std::nullopt;
  const auto kept = lock::kept_after_end(session, name, own.owner);
  if (!kept) return std::nullopt;
  const bool is_shared =
      kept->kind && *kept->kind != lock::Kind::write && lock::traits_of(*kept->kind).is_shared;
  return escape_for_terminal(name) + ": " + describe_kept(own.owner, kept->about).value_or("") +
         "; unlock --force" + (kept->kind == lock::Kind::simple ? " --kind simple" : "") +
         " breaks it" + (is_shared ? ", with the holds of all others" : "");
}

lock::Wish wish_for(lock::Wish wish, const lock::Hold& hold) {
  wish.hold = hold;
  // A server cannot tell which side of a read/write lock this hold is of, nor do several servers
  // say that the lock is a string.
  wish.kind = lock::kind_of(hold.side).value_or(wish.kind);
  return wish;
}

std::string living_runs(const std::string& name, const lock::HeldEntry& entry,
                        lock::Session& session) {
  std::vector<std::string> living;
  for (const std::string_view run : split(entry.runs, '/')) {
    const auto holds = lock::holds_among(run, entry.owner);  // none where it is a run of exec
    if (!holds.empty()) {
      lock::Wish wish{name, entry.owner, {}};
      wish.hold = holds.front();
      if (lock::make_lock(wish, session)->has_ended(session)) continue;
    }
    living.emplace_back(run);
  }
  return join(living, "/");
}

}  // namespace rlock::cli
