// Threads that take no signals and little memory.
#pragma once

#include <cstddef>
#include <pthread.h>
#include <signal.h>
#include <thread>
#include <utility>

namespace rlock {

// The size of each thread's stack in bytes. The system's default is `ulimit -s`. At 8 MiB there may
// be no room for it (`ulimit -v`), and a small limit may be too little to look up a host's name. A
// TLS handshake needs less than 24 KiB (limits_test.cpp).
inline constexpr std::size_t k_stack_size = 256UL * 1024UL;

inline void set_stack_size() noexcept {
#ifndef __SANITIZE_THREAD__  // ThreadSanitizer itself needs more than that on each stack
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return;
  ::pthread_attr_setstacksize(&attributes, k_stack_size);
  ::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
#endif
}

// Starts a thread in which every signal is blocked. A signal for the process goes to any thread
// that does not block it. If this thread took it, the thread that reads signals would not get it.
// Throws std::system_error if no thread can be started, std::bad_alloc.
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
