// The guardians of rlock's processes.
#pragma once

#include <algorithm>
#include <string>

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

}  // namespace rlock::test
