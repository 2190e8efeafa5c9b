// One lock as lines of a screen.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "cli/output/paint.hpp"
#include "cli/output/problem_text.hpp"
#include "lock/inspection/snapshot.hpp"

namespace rlock::cli {

// Shares `rows` out among parts that want so many: who wants little gets it, the others equally
// much, and the first ones what is over. Returns how many each gets.
[[nodiscard]] std::vector<std::size_t> share_rows(std::size_t rows,
                                                  const std::vector<std::size_t>& wanted);

// Lines for a terminal, harmless for it; they may be too wide. `problems`: of the snapshot. `age`:
// how long ago it was taken, which is added to what it says. The first two must outlive this
// object.
class LockView {
 public:
  LockView(const lock::Snapshot& snapshot, const std::vector<ProblemText>& problems,
           Milliseconds age, const Paint& paint = Paint())
      : snapshot_(snapshot), problems_(problems), age_(age), paint_(paint) {}

  // Returns the name and how the lock is, in at most so many columns: the name is cut first.
  [[nodiscard]] std::string title(std::size_t columns) const;
  // Returns how many lines tell everything else.
  [[nodiscard]] std::size_t detail_rows() const;
  // Returns these lines, or `rows` that sum up what does not fit.
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
