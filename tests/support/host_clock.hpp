// The clock of a host, for programs that must believe in another time.
#pragma once

#include <chrono>
#include <string>

#include "spawn.hpp"

namespace rlock::test {

// Shifts CLOCK_REALTIME only. (Not faketime: it also shifts the timers of clocks that only run, and
// its processes share a semaphore, on which all hang when one that has it is killed.)
class HostClock {
 public:
  // The files are `path` and, beside it, clock.so. Throws std::runtime_error if no compiler is
  // installed.
  explicit HostClock(std::string path);

  // Sets the clock so far ahead, at once, also for programs that run.
  void set(std::chrono::microseconds ahead) const;

  // Returns what a program with this clock has in its environment.
  [[nodiscard]] EnvChanges environment() const;

 private:
  std::string path_;
  std::string library_;
};

}  // namespace rlock::test
