// The screen of `rlock watch`: the locks, the last events, and a line about the server.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "cli/output/paint.hpp"
#include "cli/terminal/terminal_size.hpp"
#include "cli/watching/lock_watcher.hpp"

namespace rlock::cli {

class WatchScreen {
 public:
  // `server`: its URL without secrets. `hint`: a text for the end of the last line, if there is
  // room.
  WatchScreen(const std::vector<std::string>& names, std::string server, std::string hint,
              const Paint& paint = Paint());

  // Shows a lock and its problems.
  void show(const Looked& looked) { locks_[looked.lock] = looked; }
  // Adds a line to the events. The text must be harmless for a terminal. `time_ms`: since 1970.
  void add_event(std::int64_t time_ms, const std::string& text);
  // Shows that the server has been away since `since`, and why. `set_back` shows that it is back.
  void set_away(TimePoint since, const std::string& why);
  void set_back() { away_since_.reset(); }

  // Returns exactly `size.rows` lines that are harmless for a terminal. No line is wider than
  // `size.columns`.
  [[nodiscard]] std::vector<std::string> lines(const TerminalSize& size, TimePoint now) const;

 private:
  [[nodiscard]] std::string status(TimePoint now) const;
  [[nodiscard]] std::vector<std::string> body(std::size_t rows, std::size_t columns,
                                              TimePoint now) const;

  std::string server_;
  std::string hint_;
  Paint paint_;
  std::vector<Looked> locks_;  // the last of each
  std::deque<std::string> events_;
  std::optional<TimePoint> away_since_;
  std::string away_why_;
};

}  // namespace rlock::cli
