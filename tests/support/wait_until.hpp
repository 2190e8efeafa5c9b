// Waiting for a condition with a bound; no test sleeps a fixed time.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

namespace rlock::test {

// A point in time after which a wait gives up.
class Deadline {
 public:
  // bound: milliseconds from now.
  explicit Deadline(std::chrono::milliseconds bound)
      : end_(std::chrono::steady_clock::now() + bound) {}

  [[nodiscard]] bool passed() const { return std::chrono::steady_clock::now() >= end_; }

  // Returns the milliseconds left for poll(2): 0..cap.
  [[nodiscard]] int left_ms(int cap = 60'000) const {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end_ - std::chrono::steady_clock::now())
            .count();
    return static_cast<int>(std::clamp<decltype(left)>(left, 0, cap));
  }

 private:
  std::chrono::steady_clock::time_point end_;
};

// Calls condition until it returns true or bound (ms) has passed. Sleeps ten times as long as a
// call took, but 5 to 50 ms, so that waiting costs little. Returns the last answer of condition,
// which is called at least once. Passes on what condition throws.
inline bool wait_until(const std::function<bool()>& condition,
                       std::chrono::milliseconds bound = std::chrono::seconds(30)) {
  using namespace std::chrono_literals;
  using Clock = std::chrono::steady_clock;
  const Deadline deadline(bound);
  while (true) {
    const Clock::time_point begin = Clock::now();
    if (condition()) return true;
    if (deadline.passed()) return condition();
    std::this_thread::sleep_for(
        std::clamp<Clock::duration>(10 * (Clock::now() - begin), 5ms, 50ms));
  }
}

// Returns whether one of four attempts succeeds: for what has to be quick, and what a busy machine
// may make slow, but not each time.
inline bool one_succeeds(const std::function<bool()>& attempt) {
  for (int i = 0; i < 4; ++i) {
    if (attempt()) return true;
  }
  return false;
}

}  // namespace rlock::test
