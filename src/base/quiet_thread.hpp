// Threads that take no signals.
#pragma once

#include <signal.h>
#include <thread>
#include <utility>

namespace rlock {

// Starts a thread in which every signal is blocked. A signal for the process goes to any thread
// that does not block it: one that is taken here would be lost to the thread that reads signals.
template <typename Function>
[[nodiscard]] std::thread start_quiet_thread(Function&& function) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread(std::forward<Function>(function));
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

}  // namespace rlock
