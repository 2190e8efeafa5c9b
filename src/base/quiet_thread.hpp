// Threads that take no signals, and little memory.
#pragma once

#include <cstddef>
#include <pthread.h>
#include <signal.h>
#include <thread>
#include <utility>

namespace rlock {

// Of each thread's stack. The system's choice is that of `ulimit -s`: 8 MiB, for which there may be
// no room (`ulimit -v`), or too little to look up a host's name. A TLS handshake needs less than
// 24 KiB (limits_test.cpp).
inline constexpr std::size_t k_stack_size = 256UL * 1024UL;

inline void set_stack_size() noexcept {
#ifndef __SANITIZE_THREAD__  // which keeps more than that for itself on each stack
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return;
  ::pthread_attr_setstacksize(&attributes, k_stack_size);
  ::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
#endif
}

// Starts a thread in which every signal is blocked. A signal for the process goes to any thread
// that does not block it: one that is taken here would be lost to the thread that reads signals.
// Throws std::system_error if there is no thread to be had, std::bad_alloc.
template <typename Function>
[[nodiscard]] std::thread start_quiet_thread(Function&& function) {
  set_stack_size();
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
