// A line at the bottom of a person's terminal that says what takes so long, and vanishes.
#pragma once

#include <string>

#include "base/clock.hpp"

namespace rlock::cli {

// Shows on stderr, if that is a terminal, a second after it was made; gone when destroyed.
class TransientLine {
 public:
  enum class Show { never, on_terminal };

  explicit TransientLine(Show show);
  TransientLine(const TransientLine&) = delete;
  TransientLine& operator=(const TransientLine&) = delete;
  ~TransientLine() { clear(); }

  // Returns how long there has been something to wait for.
  [[nodiscard]] Milliseconds waited() const noexcept;
  // Returns whether a line would show now. A job in the background must not write over what runs in
  // the foreground.
  [[nodiscard]] bool is_due() const noexcept;
  // Shows `rlock: <text>`, cut to the terminal, if it is due. `text` must be harmless for a
  // terminal already.
  void show(const std::string& text);
  void clear() noexcept;

 private:
  bool enabled_;
  bool shown_ = false;
  TimePoint start_;
};

}  // namespace rlock::cli
