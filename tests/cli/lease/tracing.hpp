// Faults of system calls, which strace makes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/process.hpp"

namespace rlock::test {

// Returns whether strace works here.
inline bool can_trace() {
  const bool works = run({"sh", "-c", "strace -o /dev/null true"}).status == 0;
  if (!works) MESSAGE("skipped: strace is missing, or may not trace");
  return works;
}

// Returns a strace that does this to the system calls of a process, and already traces it. With
// `path`, only to those that name this file.
inline std::unique_ptr<Process> hampered(pid_t pid, const std::string& how,
                                         const std::string& path = "") {
  std::vector<std::string> argv{"strace", "-o",           "/dev/null", "-p", std::to_string(pid),
                                "-e",     "inject=" + how};
  if (!path.empty()) argv.insert(argv.end(), {"-P", path});
  auto strace = std::make_unique<Process>(argv);
  strace->wait_for_stderr("attached");
  return strace;
}

}  // namespace rlock::test
