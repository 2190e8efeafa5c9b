// Hashes that may be an application's: they are changed only if the user says that they are locks.
#pragma once

#include <string>

#include "lock/servers/session.hpp"

namespace rlock::lock {

// Throws doubtful_hash if a server has a hash under this name that shows `owner` as a holder, and
// `owner` does not look like an owner of rlock or Redisson. An owner that does costs no request.
// Throws as redis::Client::command.
void refuse_any_hash(Session& session, const std::string& name, const std::string& owner);

}  // namespace rlock::lock
