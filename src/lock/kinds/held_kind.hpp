// As what kind of lock an owner holds a name, for those who know the owner only.
#pragma once

#include <string>

#include "lock/kinds/lock.hpp"

namespace rlock::lock {

// Returns read, write or semaphore where the server says so, and otherwise reentrant, which stands
// for all kinds that are released and renewed in the same way. Throws as redis::Client::run.
[[nodiscard]] Kind held_kind(Session& session, const std::string& name, const std::string& owner);

}  // namespace rlock::lock
