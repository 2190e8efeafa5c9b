// The thread that renews a lease every third of it, on a connection of its own.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/fd.hpp"
#include "lock/reentrant.hpp"

namespace rlock::lock {

class Watchdog {
 public:
  // Why the lock cannot be counted on any longer.
  struct Verdict {
    enum class Kind { lost, expiring };
    Kind kind;
    std::string reason;
  };

  struct Options {
    redis::ClientOptions client;
    // `expiring` is said so long before the lease's end (and the time that SIGKILL takes).
    Milliseconds reserve{};
    // Called in the watchdog's thread with each new end of the lease.
    std::function<void(TimePoint)> on_renewed = [](TimePoint) {};
    // Called in the watchdog's thread, once, when there is a verdict.
    std::function<void()> on_verdict = [] {};
  };

  // Starts the thread. `lock` must outlive this object.
  Watchdog(const ReentrantLock& lock, const Lease& lease, Options options);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() { stop(); }

  // Ends the thread; no request of it is answered after that, and none is sent. Idempotent.
  void stop() noexcept;

  [[nodiscard]] std::optional<Verdict> verdict() const;

 private:
  void run() noexcept;
  [[nodiscard]] std::optional<Verdict> renew_until_lost();
  // Sleeps until `when`. Returns false when the thread is to end.
  [[nodiscard]] bool sleep_until(TimePoint when);

  const ReentrantLock& lock_;
  Lease lease_;
  Options options_;
  Event stop_;
  Alarm alarm_;
  mutable std::mutex mutex_;
  std::optional<Verdict> verdict_;
  std::thread thread_;
};

}  // namespace rlock::lock
