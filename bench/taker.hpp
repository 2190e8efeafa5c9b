// Takes the lock for whichever waiter is called, in a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "base/fd.hpp"
#include "fair_waiter.hpp"

namespace rlock::bench {

using Clock = std::chrono::steady_clock;

struct Grant {
  Waiter* waiter;
  Clock::time_point when;
};

class Taker {
 public:
  explicit Taker(redis::ClientOptions options);
  ~Taker();
  Taker(const Taker&) = delete;
  Taker& operator=(const Taker&) = delete;

  // Listens for `waiter`, until that stops listening. It must live longer than the Taker.
  void add(Waiter& waiter);

  // Returns the next grant. Throws Error if there is none for a long time.
  [[nodiscard]] Grant wait_for_grant();

 private:
  void run();

  redis::Client client_;
  Event stop_;
  Fd epoll_;
  std::mutex mutex_;
  std::condition_variable granted_;
  std::optional<Grant> grant_;
  std::thread thread_;
};

}  // namespace rlock::bench
