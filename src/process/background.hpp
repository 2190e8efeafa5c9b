// A process that goes on when rlock has ended, like a daemon.
#pragma once

#include <functional>
#include <string>

#include "base/fd.hpp"

namespace rlock::process {

// The name of such a process. rename_process explains why it is not "rlock".
inline constexpr const char* k_background_name = "lock-watchdog";

// The process is nobody's job and nobody's child. It has a session of its own, and takes no signal
// but SIGKILL and SIGSTOP. It keeps none of this process's descriptors and no directory, so that no
// program waits for it.
class Background {
 public:
  // The work of the process, with the message that it gets. It calls `started` when it has
  // everything that it needs.
  using Work =
      std::function<void(const std::string& message, const std::function<void()>& started)>;

  // Forks. Call it while this process has one thread, and descriptors 0, 1 and 2 are open. The new
  // process waits for a message. If none comes, it ends with this process or this object. `shared`
  // stays open in the new process. Throws Error (unavailable) if no process can be started.
  Background(const Fd& shared, const Work& work);

  // Sends the message, and waits until the work has started. From then on the work goes on, even if
  // this process ends. Throws Error (unavailable) if the work cannot start, or the process has
  // ended or does not answer within 30 s.
  void hand_over(const std::string& message);

 private:
  Fd line_;
};

}  // namespace rlock::process
