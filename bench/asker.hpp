// Asks for many waiters, each at the time that its last answer told, as each would by itself.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#include "fair_waiter.hpp"

namespace rlock::bench {

class Asker {
 public:
  explicit Asker(redis::ClientOptions options);
  ~Asker();
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  // Asks for `waiter` after the time that its answer `busy` tells, and so on for as long as it
  // waits; the first time sooner, at random, as if it had waited for long already.
  // It must live longer than the Asker.
  void add(Waiter& waiter, const lock::Busy& busy);

  [[nodiscard]] long asked() const noexcept { return asked_; }
  // Returns the longest time that a waiter had to wait for its turn to ask.
  [[nodiscard]] Milliseconds latest() const noexcept { return latest_; }

 private:
  struct Turn {
    TimePoint when;
    Waiter* waiter;
    bool operator>(const Turn& other) const noexcept { return when > other.when; }
  };

  void add_turn(TimePoint when, Waiter& waiter);
  void run();

  redis::Client client_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  bool stop_ = false;
  std::atomic<long> asked_{0};
  std::atomic<Milliseconds> latest_{Milliseconds(0)};
  std::thread thread_;
};

}  // namespace rlock::bench
