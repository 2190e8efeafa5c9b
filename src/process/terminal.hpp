// The controlling terminal, and the process group in its foreground.
#pragma once

#include <optional>
#include <sys/types.h>
#include <termios.h>

#include "base/fd.hpp"

namespace rlock::process {

class Terminal {
 public:
  // Opens the controlling terminal, if there is one, and stores its modes.
  Terminal();

  [[nodiscard]] bool exists() const noexcept { return fd_.valid(); }
  // Returns whether this process group has the terminal.
  [[nodiscard]] bool is_ours() const noexcept;
  // Returns whether a command that starts now should get the terminal at once. This process group
  // must have the terminal, standard input and output must be the terminal, and rlock must not run
  // in the background of a script. Beside a pager, the command gets the terminal when it asks for
  // it.
  [[nodiscard]] bool is_for_command() const noexcept;

  void give_to(pid_t group) const noexcept;
  // Takes the terminal back for this process group if `group` has it. Returns whether `group` had
  // it.
  bool take_from(pid_t group) const noexcept;
  // Restores the modes, after a program that could not restore them itself.
  void restore_modes() const noexcept;

 private:
  Fd fd_;
  std::optional<termios> modes_;
};

}  // namespace rlock::process
