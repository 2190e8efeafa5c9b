// Faults of system calls, which strace makes.
#pragma once

#include <doctest/doctest.h>

#include "support/process.hpp"

namespace rlock::test {

// Returns whether strace works here.
inline bool can_trace() {
  const bool works = run({"sh", "-c", "strace -o /dev/null true"}).status == 0;
  if (!works) MESSAGE("skipped: strace is missing, or may not trace");
  return works;
}

}  // namespace rlock::test
