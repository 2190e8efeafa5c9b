// Shows one lock as lines of a screen.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "cli/output/paint.hpp"
#include "cli/output/problem_text.hpp"
#include "lock/inspection/snapshot.hpp"

namespace rlock::cli {

// Distributes `rows` among parts. Each part gets at most the rows that it wants. Parts that want
// more than there is get equally many, and the first parts get the remainder. Returns how many each
// gets.
[[nodiscard]] std::vector<std::size_t> share_rows(std::size_t rows,
                                                  const std::vector<std::size_t>& wanted);

// Makes lines that are harmless for a terminal. They may be too wide for it. `problems`: of the
// snapshot. `age`: the time since the snapshot was taken. The times that are shown count it. The
// snapshot and the problems must outlive this object.
class LockView {
 public:
  LockView(const lock::Snapshot& snapshot, const std::vector<ProblemText>& problems,
           Milliseconds age, const Paint& paint = Paint())
      : snapshot_(snapshot), problems_(problems), age_(age), paint_(paint) {}

  // Returns the name and the state in at most `columns` columns. If they do not fit, the name is
  // cut first.
  [[nodiscard]] std::string title(std::size_t columns) const;
  // Returns how many lines show all details.
  [[nodiscard]] std::size_t detail_rows() const;
  // Returns these lines. If there are more than `rows`, returns `rows` lines that count what is
  // left out.
  [[nodiscard]] std::vector<std::string> details(std::size_t rows) const;

 private:
  [[nodiscard]] std::string state() const;
  [[nodiscard]] std::string holder(std::size_t index) const;
  [[nodiscard]] std::string waiter(std::size_t index) const;
  [[nodiscard]] std::string problem(std::size_t index) const;
  [[nodiscard]] std::string since(const lock::Party& party) const;
  [[nodiscard]] std::string until(std::int64_t time_ms) const;

  const lock::Snapshot& snapshot_;
  const std::vector<ProblemText>& problems_;
  Milliseconds age_;
  Paint paint_;
};

}  // namespace rlock::cli
