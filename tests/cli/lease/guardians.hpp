// The guardians of rlock's processes.
#pragma once

#include <algorithm>
#include <csignal>
#include <string>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <doctest/doctest.h>

#include "support/processes.hpp"
#include "support/wait_until.hpp"

namespace rlock::test {

// Returns the guardian of a process; -1 while there is none.
inline pid_t guardian_of(pid_t rlock) {
  const auto found = processes_with("lock-guardian of " + std::to_string(rlock));
  const auto guardian = std::find_if(found.begin(), found.end(), [&](pid_t pid) {
    const auto stat = process_stat(pid);
    return stat && stat->parent == rlock;
  });
  return guardian == found.end() ? -1 : *guardian;
}

// The same, once there is one: it may get its long name after the command has started.
inline pid_t wait_for_guardian_of(pid_t rlock) {
  pid_t guardian = -1;
  REQUIRE(wait_until([&] { return (guardian = guardian_of(rlock)) > 0; }));
  return guardian;
}

// Keeps a process from running, as a debugger does: its parent is not told, and SIGCONT does not
// continue it. Only the thread that has made the object may destroy it.
class Debugged {
 public:
  explicit Debugged(pid_t pid) : pid_(pid) {
    works_ = ::ptrace(PTRACE_SEIZE, pid, 0, 0) == 0 && ::ptrace(PTRACE_INTERRUPT, pid, 0, 0) == 0 &&
             ::waitpid(pid, nullptr, __WALL) == pid;
    if (!works_) MESSAGE("skipped: cannot trace");
  }
  Debugged(const Debugged&) = delete;
  Debugged& operator=(const Debugged&) = delete;
  // Kills the process, if nobody has done so.
  ~Debugged() {
    if (!works_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, __WALL);
  }
  [[nodiscard]] bool works() const { return works_; }

 private:
  pid_t pid_;
  bool works_;
};

inline void stop(pid_t pid) {
  ::kill(pid, SIGSTOP);
  REQUIRE(wait_until([&] { return !alive(pid) || stopped(pid); }));
}

}  // namespace rlock::test
