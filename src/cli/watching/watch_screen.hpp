// The screen of `rlock watch`: the locks, the last events, and a line about the server.
#pragma once

#include <cstddef>
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

// Returns how many of the `rows` each part gets: at most what it wants. Parts that want more than
// there is get equally many, and the first parts get the remainder.
[[nodiscard]] std::vector<std::size_t> share_rows(std::size_t rows,
                                                  const std::vector<std::size_t>& wanted);

// Makes lines that are harmless for a terminal, but may be too wide. `age`: the time since the
// snapshot, which the times that are shown count. Snapshot and problems must outlive this object.
class LockView {
 public:
  LockView(const lock::Snapshot& snapshot, const std::vector<ProblemText>& problems,
           Milliseconds age, const Paint& paint = Paint())
      : snapshot_(snapshot), problems_(problems), age_(age), paint_(paint) {}

  // Returns the name and the state in at most `columns` columns. The name is cut first.
  [[nodiscard]] std::string title(std::size_t columns) const;
  // Returns how many lines show all details.
  [[nodiscard]] std::size_t detail_rows() const;
  // Returns these lines, or `rows` lines that count what is left out.
  [[nodiscard]] std::vector<std::string> details(std::size_t rows) const;

 private:
  [[nodiscard]] std::string state() const;
  [[nodiscard]] std::string line(const lock::Holder& holder) const;
  [[nodiscard]] std::string line(const lock::Waiter& waiter) const;
  [[nodiscard]] std::string line(const ProblemText& problem) const;
  [[nodiscard]] std::string since(const lock::Party& party) const;
  [[nodiscard]] std::string until(std::int64_t time_ms) const;

  const lock::Snapshot& snapshot_;
  const std::vector<ProblemText>& problems_;
  Milliseconds age_;
  Paint paint_;
};

class WatchScreen {
 public:
  // `server`: its URL without secrets. `hint`: for the end of the last line, if there is room.
  WatchScreen(const std::vector<std::string>& names, std::string server, std::string hint,
              const Paint& paint = Paint());

  // Shows a lock and its problems.
  void show(const Looked& looked) { locks_[looked.lock] = looked; }
  // Adds a line to the events. The text must be harmless for a terminal. `time_ms`: since 1970.
  void add_event(std::int64_t time_ms, const std::string& text);
  // Shows that the server has been away since `since`, and why. `set_back` shows that it is back.
  void set_away(TimePoint since, const std::string& why);
  void set_back() { away_since_.reset(); }

  // Returns exactly `size.rows` lines, harmless for a terminal, of at most `size.columns` columns.
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
