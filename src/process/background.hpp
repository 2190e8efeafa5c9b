// A process that goes on when rlock has ended, as a daemon does.
#pragma once

#include <functional>
#include <string>

#include "base/fd.hpp"

namespace rlock::process {

// What such a process calls itself; another name than rlock: see rename_process.
inline constexpr const char* k_background_name = "lock-watchdog";

// It is nobody's job and nobody's child, sits in a session of its own, takes no signal but SIGKILL
// and SIGSTOP, and has none of our descriptors and no directory, so that nobody waits for it.
class Background {
 public:
  // What it does with the message that it gets, and with the descriptor that it shares with us. It
  // calls `started` once nothing that it needs can be missing any longer.
  using Work = std::function<void(const std::string& message, const Fd& shared,
                                  const std::function<void()>& started)>;

  // Forks: call it while the process has one thread, and 0, 1 and 2 are open. The process waits for
  // a message; if none comes, it ends with us or with this object. Throws Error (unavailable) if
  // there is no process to be had.
  Background(const Fd& shared, const Work& work);

  // Sends the message, and waits until the work has started: from now on it is done, whatever
  // becomes of us. Throws Error (unavailable) if it cannot be done, or the process has gone or does
  // not answer within 30 s.
  void hand_over(const std::string& message);

 private:
  Fd line_;
};

}  // namespace rlock::process
