// A lock that only --at-least keeps, after the end of its run.
#pragma once

#include <optional>
#include <string>

#include "lock/servers/session.hpp"
#include "lock/words/owner_info.hpp"

namespace rlock::lock {

// Returns what the side key tells of an owner whose run has ended, if only --at-least still keeps
// its lock (About::kept_until_ms). Otherwise nothing. Throws as redis::Client::run.
[[nodiscard]] std::optional<OwnerInfo> kept_after_end(Session& session, const std::string& name,
                                                      const std::string& owner);

}  // namespace rlock::lock
