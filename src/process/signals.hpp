// Signals. rlock blocks them from the start and reads them from a descriptor. It never handles
// them.
#pragma once

#include <optional>
#include <signal.h>

#include "base/fd.hpp"

namespace rlock::process {

struct Signal {
  int number = 0;
  bool from_terminal = false;  // typed at the terminal, not sent by a process
  bool from_self = false;
};

// Returns whether the default action of a signal ends a process.
[[nodiscard]] bool ends_process(int signal) noexcept;

// Stops this process if a SIGTSTP is pending, as if it were not blocked. Returns when the process
// continues, and has then taken the SIGCONT. In an orphaned process group, no shell could continue
// the process. There the kernel drops SIGTSTP, and the function returns at once.
void stop_until_continued() noexcept;

// Make one object in a process. Signals that the caller ignores stay ignored.
class Signals {
 public:
  // Blocks the signals that end a process, and reads them. Job control works as without rlock.
  // Throws Error if the system refuses.
  Signals();

  // From now on reads every signal that can be caught, including those of job control and children.
  void read_all();

  // From now on also reads this signal, unless the caller ignores it.
  void read_also(int signal);

  // Returns a descriptor that is readable when `next` has a signal.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  // Returns the next signal, or nothing. Does not wait.
  [[nodiscard]] std::optional<Signal> next() noexcept;

  // Restores the signal mask of rlock's caller: what was pending acts now.
  void restore_callers_mask() const noexcept {
    ::sigprocmask(SIG_SETMASK, &callers_mask_, nullptr);
  }

  // Call it in a forked child before exec. Restores the signal mask and dispositions of rlock's
  // caller.
  void restore_in_child() const noexcept;

 private:
  void read(const sigset_t& set);

  sigset_t callers_mask_{};
  sigset_t callers_ignored_{};
  sigset_t set_{};  // the signals that are read
  Fd fd_;
};

}  // namespace rlock::process
