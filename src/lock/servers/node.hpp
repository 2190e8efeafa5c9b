// One of several servers. Each is asked in a thread of its own, so that no server waits for
// another.
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

  // Does not connect yet. Replaces the `wake_fd` of `options`.
  explicit Node(redis::ClientOptions options) : client_(std::move(options)) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  // Interrupts the running job. Then runs the queued jobs, and interrupts each as soon as it would
  // wait for the server.
  ~Node();

  // Starts the work of the destructor, and returns at once.
  void stop() noexcept;

  // Queues `job` for the thread. Its requests cannot overtake those of earlier jobs. Thread-safe.
  // Throws redis::Unavailable, and drops the job, if the thread cannot be started. Then this node
  // has never done a job.
  void post(Job job);

 private:
  void run() noexcept;
  [[nodiscard]] Job next();

  Event stop_;
  redis::Client client_;  // only the thread uses it
  std::mutex mutex_;      // guards all members below
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace rlock::lock
