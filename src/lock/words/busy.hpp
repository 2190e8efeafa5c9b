// Why a lock cannot be had now.
#pragma once

#include <exception>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "lock/words/owner.hpp"

namespace rlock::lock {

// Somebody else holds the lock, or it is somebody else's turn.
struct Busy {
  std::optional<Milliseconds> ttl;  // nothing: it has no expiry; 0 where it is free
  std::string owner;                // empty where unknown, and so are the fields of `holder`
  About holder;
  Ambiguity ambiguity = Ambiguity::none;  // as in Snapshot
  std::optional<Milliseconds> held_for;
  std::optional<int> place;               // in the queue of a fair lock, where 0 is the head
  std::optional<Milliseconds> ask_after;  // if so, when to ask again although nobody calls
  std::string overheard;                  // another's channel that tells more, if not empty
  std::optional<int> permits;             // of a semaphore, that are out
  // Of several servers: that no owner is known to have a majority, and that some of them fail.
  std::exception_ptr failure{};
  int waiters = 0;  // that take turns: clients that listen for a release; 0 where unknown

  // Whether only others' turns are in the way.
  [[nodiscard]] bool is_free() const { return ttl == Milliseconds(0) && owner.empty(); }
};

}  // namespace rlock::lock
