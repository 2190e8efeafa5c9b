// On which terms a lock is taken.
#pragma once

#include <optional>

#include "lock/words/lease.hpp"

namespace rlock::lock {

// peek: the grant tells which token would be drawn, and draws none.
enum class Fencing { off, on, peek };

struct Terms {
  Terms(Milliseconds length) : lease(length) {}  // NOLINT(google-explicit-constructor): mostly all

  Milliseconds lease;
  Fencing fencing = Fencing::off;  // whether a grant draws a fencing token
  int sync_replicas = 0;           // the lock is given back unless this many replicas know of it
  // For one of several servers, and only for those: if it started less than this ago, it may have
  // forgotten a lock, and grants none.
  std::optional<Milliseconds> restart_delay{};
};

}  // namespace rlock::lock
