// As whom the caller holds a lock: what its environment tells.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lock/servers/session.hpp"
#include "lock/words/held.hpp"
#include "lock/words/hold.hpp"

namespace rlock::cli {

struct OwnHold {
  std::string owner;
  std::vector<lock::Hold> holds;  // those that rlock acquire --export has told of, innermost last
};

// Returns who holds `name`: `owner` if it is given, or whom RLOCK_HELD tells, or else RLOCK_OWNER
// where RLOCK_NAME is this name. Nothing where the environment knows of no hold.
[[nodiscard]] std::optional<OwnHold> find_own_hold(const std::string& name,
                                                   const std::optional<std::string>& owner);

// Returns the runs of the entry for `name` in RLOCK_HELD without the holds of rlock acquire that
// were given back: the owner may hold the lock all the same, for another process. A run of exec
// counts as long as its command runs. Throws as lock::Lock does.
[[nodiscard]] std::string living_runs(const std::string& name, const lock::HeldEntry& entry,
                                      lock::Session& session);

}  // namespace rlock::cli
