// One run that waits for the fair lock, with all that a waiting rlock has: an owner, a place in the
// queue, and a connection that listens to its own channel.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "lock/kinds/fair.hpp"
#include "lock/kinds/single_server_lock.hpp"
#include "redis/subscription.hpp"

namespace rlock::bench {

class Waiter {
 public:
  explicit Waiter(const std::string& lock_name);

  // Takes the lock, which must be free.
  void take(redis::Client& client);

  // Queues as lock::wait_for_lock does; the lock must be busy. `listening`: for the connection that
  // it listens on. Returns the answer, with its place.
  [[nodiscard]] lock::Busy join(redis::Client& client, const redis::ClientOptions& listening);

  // Asks again if it still waits. Returns nothing if it does not, or has the lock now.
  [[nodiscard]] std::optional<lock::Busy> ask(redis::Client& client);

  // Reads its messages, and asks if there is one. Returns whether it has the lock now.
  [[nodiscard]] bool on_call(redis::Client& client);

  // Stops listening: it has the lock, or is about to give up.
  void stop_listening();

  [[nodiscard]] int fd() const noexcept { return subscription_->fd(); }
  [[nodiscard]] lock::SingleServerLock& lock() noexcept { return lock_; }

 private:
  std::mutex mutex_;  // a run has one request at a time
  lock::SingleServerLock lock_;
  std::optional<redis::Subscription> subscription_;
  bool waits_ = false;
};

}  // namespace rlock::bench
