// Which object stands for a lock: its kind and its servers decide.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lock/kinds/lock.hpp"
#include "lock/servers/session.hpp"
#include "lock/words/hold.hpp"
#include "lock/words/owner.hpp"
#include "lock/words/terms.hpp"

namespace rlock::lock {

struct Wish {
  std::string name;
  std::string owner;
  About about;
  Terms terms{k_default_lease};
  Kind kind = Kind::reentrant;
  Milliseconds fair_wait{};    // of a fair lock
  int permits = 1;             // of a semaphore: how many may hold it at once
  std::optional<Hold> hold{};  // that there is already, which the lock and its owner stand for
};

// Returns the lock of `owner`, to be asked through `session` or another with the same servers.
// Throws Error (usage) for a name that cannot be, and for what several servers cannot keep.
[[nodiscard]] std::unique_ptr<Lock> make_lock(const Wish& wish, const Session& session);

// Returns as what kind of lock an owner holds a name: read, write or semaphore where the server
// says so, and otherwise reentrant, which stands for all kinds that are released and renewed in the
// same way. Throws as redis::Client::run.
[[nodiscard]] Kind held_kind(Session& session, const std::string& name, const std::string& owner);

}  // namespace rlock::lock
