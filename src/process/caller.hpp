// The process with which a lock of `rlock acquire` ends.
#pragma once

#include <string>
#include <sys/types.h>

#include "base/error.hpp"
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

// Returns the process with this number. Throws Error: usage if there is none, permission if it
// belongs to another user (root may watch all processes).
[[nodiscard]] Watched watch_process(pid_t pid);

// It is not clear which process called this one.
class UnclearCaller : public Error {
 public:
  explicit UnclearCaller(const std::string& why) : Error(ExitStatus::usage, why) {}
};

// Returns the process that called this one and goes on when this one has ended. This is the parent.
// If the parent is a subshell in a command substitution or a pipeline, it would end with that. Then
// this is the shell around it. (A subshell is a process that never ran a program of its own.) In
// doubt, the shell that lives longer is chosen, because a lock that ends too early does more harm.
// Throws UnclearCaller if it is not clear who the caller is. Either another program (timeout, sudo,
// a script) is between this process and the process that reads its output. Or the parent is init
// and does not read the output.
[[nodiscard]] Watched watch_caller();

}  // namespace rlock::process
