// Starting the command.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "process/guardian.hpp"
#include "process/signals.hpp"
#include "process/terminal.hpp"

namespace rlock::process {

struct Command {
  std::vector<std::string> argv;         // the program, looked up in PATH, and its arguments
  std::vector<std::string> environment;  // NAME=value
};

// Starts `command` in a process group of its own, with the caller's signal mask and dispositions,
// and gives it the terminal if that is for the command. It gets descriptors 0, 1 and 2, and all
// others without FD_CLOEXEC. `guardian` knows the process before it runs the command. Returns its
// pid, which is also the number of its group. If the guardian does not register the process any
// more, also returns its pid, but the process ends by SIGKILL before it runs the command. Throws
// Error: 127 if the program is not found, 126 if it cannot be run, 69 if no process can be started
// or the guardian does not answer.
[[nodiscard]] pid_t start_child(const Command& command, const Signals& signals,
                                const Terminal& terminal, const Guardian& guardian);

}  // namespace rlock::process
