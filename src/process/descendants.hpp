// The processes that a command has become.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace rlock::process {

// What tells the command's processes from others: a process belongs to it if it is in `group`, has
// `marker` in its environment, is a child of `root` other than `except`, or if its parent belongs.
// The watchdogs that rlock acquire leaves behind do not: each ends by itself with the process that
// it follows, which need not be one of the command's. Nor does a private server that only is a
// descendant: it serves everybody, whoever was the first to need it.
struct Tree {
  pid_t root = 0;    // 0: none
  pid_t except = 0;  // 0: none
  pid_t group = 0;   // 0: none
  std::string marker;
};

// Returns the living processes of `tree`, without zombies, `root` and `except`.
[[nodiscard]] std::vector<pid_t> find_processes(const Tree& tree);

// Sends SIGTERM to every process of `tree` once, and SIGCONT so that a stopped one hears it.
void terminate(const Tree& tree);

// Sends SIGKILL to the processes of `tree` that there are now, also to those that were born
// meanwhile. Returns true when none is left; a process in the kernel may take a moment to die.
bool kill_now(const Tree& tree);

}  // namespace rlock::process
