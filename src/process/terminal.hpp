// The controlling terminal and which process group has it.
#pragma once

#include <optional>
#include <sys/types.h>
#include <termios.h>

#include "base/fd.hpp"

namespace rlock::process {

class Terminal {
 public:
  // Opens the controlling terminal, if there is one, and remembers its modes.
  Terminal();

  [[nodiscard]] bool exists() const noexcept { return fd_.valid(); }
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  // Returns true if our own process group has the terminal.
  [[nodiscard]] bool is_ours() const noexcept;
  // Returns true if a command started now should have the terminal at once: it is ours, our
  // standard input and output are it, and we are not in the background of a script. Beside a pager,
  // the command gets it when it asks.
  [[nodiscard]] bool is_for_command() const noexcept;

  void give_to(pid_t group) const noexcept;
  // Makes the terminal ours again if `group` has it. Returns whether it had.
  bool take_from(pid_t group) const noexcept;
  // Sets the modes back, after a program that could not do it itself.
  void restore_modes() const noexcept;

 private:
  Fd fd_;
  std::optional<termios> modes_;
};

}  // namespace rlock::process
