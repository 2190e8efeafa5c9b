// The watchdog of a lock that rlock acquire leaves behind: a process of its own.
#pragma once

#include "cli/taking/taking.hpp"
#include "lock/make_lock.hpp"
#include "lock/words/hold.hpp"
#include "process/background.hpp"
#include "process/caller.hpp"

namespace rlock::cli {

// Returns the hold that has been taken, as others are to know it.
[[nodiscard]] lock::Hold hold_of(const Taken& taken);

// Returns whether the watchdog of a lock of this kind listens for its release, as waiters do.
[[nodiscard]] bool listens_for_release(lock::Kind kind);

// It renews the lock while the caller lives, gives it back when the caller has ended, and ends when
// the hold was given back, or the lock is lost.
class BackgroundWatchdog {
 public:
  // Forks, before there is a lock: call it while the process has one thread. Without hand_over, the
  // process ends with this object. Throws Error (unavailable) if there is no process to be had.
  BackgroundWatchdog(const lock::Wish& wish, const lock::SessionOptions& servers,
                     const process::Watched& caller);

  // Leaves the lock to it, and returns once it keeps it. Throws Error (unavailable) if it has gone,
  // or cannot.
  void hand_over(const Taken& taken);

 private:
  process::Background process_;
};

}  // namespace rlock::cli
