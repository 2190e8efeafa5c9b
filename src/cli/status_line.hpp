// The line that tells a person at a terminal what a wait is for.
#pragma once

#include <string>

#include "base/clock.hpp"
#include "lock/reentrant.hpp"

namespace rlock::cli {

// Shows on stderr, if that is a terminal, once the wait has lasted a second; gone when destroyed.
class StatusLine {
 public:
  enum class Show { never, on_terminal };

  StatusLine(std::string name, Show show);
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine() { clear(); }

  void update(const lock::Busy& busy);
  void clear() noexcept;

 private:
  std::string name_;
  bool enabled_;
  bool shown_ = false;
  TimePoint start_;
};

// Returns who holds a lock, for people: `web1 pid 4242 (backup) "note"`, or the owner where no more
// is known. Harmless for a terminal.
[[nodiscard]] std::string describe_holder(const std::string& owner, const lock::About& about);

}  // namespace rlock::cli
