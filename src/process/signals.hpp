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

// One object a process. Signals that the caller ignores stay ignored.
class Signals {
 public:
  // Blocks and reads the signals that end a process; job control works as ever.
  // Throws Error when the system refuses.
  Signals();

  // From now on reads every signal that can be caught, also those of job control and children.
  void read_all();

  // Returns a descriptor that is readable when `next` has something.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] std::optional<Signal> next() noexcept;

  // For a forked child before exec: mask and dispositions as our caller left them.
  void restore_in_child() const noexcept;

 private:
  void read(const sigset_t& set);

  sigset_t callers_mask_{};
  sigset_t callers_ignored_{};
  Fd fd_;
};

}  // namespace rlock::process
