// The background watchdog: the process that keeps the lock of `rlock acquire`.
#pragma once

#include "lock/make_lock.hpp"
#include "lock/words/hold.hpp"
#include "process/background.hpp"
#include "process/caller.hpp"

namespace rlock::cli {

// The process renews the lock while the caller lives, and releases it when the caller has ended. It
// ends when the hold was given back, or the lock is lost.
class BackgroundWatchdog {
 public:
  // Forks. Call it before the lock is taken, while this process has one thread. Without hand_over,
  // the new process ends with this object. Throws Error (unavailable) if no process can be started.
  BackgroundWatchdog(const lock::Wish& wish, const lock::SessionOptions& servers,
                     const process::Watched& caller);

  // Hands the lock over to the process. Returns when the process keeps it. Throws Error
  // (unavailable) if the process has ended or cannot keep the lock.
  void hand_over(const lock::Hold& hold);

 private:
  process::Background process_;
};

}  // namespace rlock::cli
