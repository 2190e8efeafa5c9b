// A line on a terminal that says what is slow, and then vanishes.
#pragma once

#include <string>

#include "base/clock.hpp"

namespace rlock::cli {

// Shows a line on stderr, if that is a terminal. The line waits for a second, and the destructor
// removes it.
class TransientLine {
 public:
  // Shows nothing if `is_quiet`.
  explicit TransientLine(bool is_quiet);
  TransientLine(const TransientLine&) = delete;
  TransientLine& operator=(const TransientLine&) = delete;
  ~TransientLine() { clear(); }

  // Returns the time since the object was made.
  [[nodiscard]] Milliseconds waited() const noexcept;
  // Returns whether a line would show now. A background job must not write over the foreground job.
  [[nodiscard]] bool is_due() const noexcept;
  // Shows `rlock: <text>`, cut to the width of the terminal, if it is due. `text` must already be
  // harmless for a terminal.
  void show(const std::string& text);
  void clear() noexcept;

 private:
  bool enabled_;
  bool shown_ = false;
  TimePoint start_;
};

}  // namespace rlock::cli
