// One of several servers, asked in a thread of its own, so that none has to wait for another.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "base/fd.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

class Node {
 public:
  // Must not throw.
  using Job = std::function<void(redis::Client&)>;

  // Connects to nobody yet. The descriptor that interrupts `options` is replaced.
  explicit Node(redis::ClientOptions options) : client_(std::move(options)) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  // Interrupts the job that runs; those that are queued run to their end, each interrupted as soon
  // as it would wait for the server.
  ~Node();

  // Starts what the destructor does, and waits for nothing.
  void stop() noexcept;

  // Has the thread do `job` after all that was posted before: what is sent for it cannot overtake
  // what was sent for those. Thread-safe. Throws redis::Unavailable, and drops the job, if there is
  // no thread to be had; then none of its jobs has ever been done.
  void post(Job job);

 private:
  void run() noexcept;
  [[nodiscard]] Job next();

  Event stop_;
  redis::Client client_;  // the thread's
  std::mutex mutex_;      // of all that follows
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace rlock::lock
