// The holds of the caller, from its environment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lock/make_lock.hpp"
#include "lock/servers/session.hpp"
#include "lock/words/held.hpp"
#include "lock/words/hold.hpp"

namespace rlock::cli {

struct OwnHold {
  std::string owner;
  std::vector<lock::Hold> holds;  // of rlock acquire --export, the innermost last
};

// Returns the caller's hold of the lock `name`. The owner is `owner` if it is given, otherwise the
// owner in RLOCK_HELD, otherwise RLOCK_OWNER if RLOCK_NAME is `name`. Throws Error (usage) if no
// owner is known. `otherwise`: what else its message tells the user to do.
[[nodiscard]] OwnHold find_own_hold(const std::string& name,
                                    const std::optional<std::string>& owner,
                                    const std::string& otherwise = "");

// Returns the wish with which `own` is renewed or given back. Asks the server as what kind of lock
// it is held. An owner that is a permit of Redisson may be given as inspect-queue shows it. Throws
// as lock::held_kind and lock::refuse_any_hash.
[[nodiscard]] lock::Wish wish_for_own(const std::string& name, const OwnHold& own,
                                      const lock::Terms& terms, lock::Session& session);

// Returns why `own` can neither be renewed nor be given back, if its run has ended and only
// --at-least still keeps the lock. Throws as lock::kept_after_end.
[[nodiscard]] std::optional<std::string> describe_kept_hold(const std::string& name,
                                                            const OwnHold& own,
                                                            lock::Session& session);

// Returns `wish` for the lock of `hold`, to go on with it.
[[nodiscard]] lock::Wish wish_for(lock::Wish wish, const lock::Hold& hold);

// Returns the runs of `entry`, the entry for `name` in RLOCK_HELD, without the holds of rlock
// acquire that were given back. Asks the server about each hold, because the owner may hold the
// lock for another process. A run of exec counts as long as it lasts. Throws as lock::Lock.
[[nodiscard]] std::string living_runs(const std::string& name, const lock::HeldEntry& entry,
                                      lock::Session& session);

}  // namespace rlock::cli
