// Whose life a lock follows that rlock leaves behind.
#pragma once

#include <sys/types.h>

#include "base/fd.hpp"

namespace rlock::process {

struct Watched {
  pid_t pid = 0;
  Fd handle;  // readable once the process has ended
};

// Returns whether the process with this handle has ended.
[[nodiscard]] bool has_ended(const Fd& handle);

// Throws Error (usage) if the process has ended.
void check_alive(const Watched& watched);

// Returns the process of this number. Throws Error: usage if there is none, permission if it is
// another user's (root may watch everybody's).
[[nodiscard]] Watched watch_process(pid_t pid);

// Returns the process that has called this one and that goes on when this one has ended: the
// parent; or, where that is a subshell (a process that never ran a program of its own) in a command
// substitution or a pipeline, and would end with it, the shell around that. A shell that lives
// longer than it must does less harm than a lock that ends too early.
// Throws Error (usage) where it cannot be told: another program (timeout, sudo, a script) stands
// between us and a process above that reads what we print, or the parent is init and does not.
[[nodiscard]] Watched watch_caller();

}  // namespace rlock::process
