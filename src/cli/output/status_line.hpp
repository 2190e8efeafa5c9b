// The line that tells a person at a terminal what a wait is for.
#pragma once

#include <string>
#include <utility>

#include "cli/terminal/transient_line.hpp"
#include "lock/words/busy.hpp"

namespace rlock::cli {

// Shows once the wait has lasted a second; gone when destroyed.
class StatusLine {
 public:
  using Show = TransientLine::Show;

  // `deadline`: when the wait is given up; TimePoint::max() if never.
  StatusLine(std::string name, Show show, TimePoint deadline)
      : name_(std::move(name)), line_(show), deadline_(deadline) {}

  void update(const lock::Busy& busy);
  void clear() noexcept { line_.clear(); }

 private:
  std::string name_;
  TransientLine line_;
  TimePoint deadline_;
};

}  // namespace rlock::cli
