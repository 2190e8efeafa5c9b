// Signals are read, never handled: blocked from the start and taken from a descriptor.
#pragma once

#include <optional>
#include <signal.h>

#include "base/fd.hpp"

namespace rlock::process {

struct Signal {
  int number = 0;
  bool from_terminal = false;  // typed, not sent by a process
  bool from_self = false;
};

// Returns true for a signal whose default action ends a process.
[[nodiscard]] bool ends_process(int signal) noexcept;

// Stops this process if a SIGTSTP waits for it, as if that were not blocked; returns when it goes
// on, with the SIGCONT taken. Where no shell could ever continue us (an orphaned process group) the
// kernel drops SIGTSTP, and it returns at once.
void stop_until_continued() noexcept;

// One object a process. Signals that the caller ignores stay ignored.
class Signals {
 public:
  // Blocks and reads the signals that end a process; job control works as ever.
  // Throws Error when the system refuses.
  Signals();

  // From now on reads every signal that can be caught, also those of job control and children.
  void read_all();

  // From now on reads this signal, too, unless the caller ignores it.
  void read_also(int signal);

  // Returns a descriptor that is readable when `next` has something.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] std::optional<Signal> next() noexcept;

  // For a forked child before exec: mask and dispositions as our caller left them.
  void restore_in_child() const noexcept;

 private:
  void read(const sigset_t& set);

  sigset_t callers_mask_{};
  sigset_t callers_ignored_{};
  sigset_t set_{};  // those that are read
  Fd fd_;
};

}  // namespace rlock::process
