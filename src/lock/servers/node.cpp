#include "lock/servers/node.hpp"

#include <system_error>

#include "base/quiet_thread.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {

Node::~Node() {
  stop();
  if (thread_.joinable()) thread_.join();
}

void Node::stop() noexcept {
  {
    const std::lock_guard guard(mutex_);
    is_over_ = true;
  }
  stop_.raise();
  changed_.notify_one();
}

void Node::post(Job job) {
  const std::lock_guard guard(mutex_);
  if (!thread_.joinable()) {
    try {
      thread_ = start_quiet_thread([this] { run(); });
    } catch (const std::system_error& error) {
      throw redis::Unavailable("cannot start a thread to ask " +
                               client_.options().endpoint.display() + ": " + error.what());
    }
  }
  jobs_.push_back(std::move(job));
  changed_.notify_one();
}

void Node::run() noexcept {
  while (const Job job = next()) {
    client_.set_wake_fd(stop_.fd());  // the job before may have removed it
    job(client_);
  }
}

// Returns an empty job when the thread must end.
Node::Job Node::next() {
  std::unique_lock guard(mutex_);
  changed_.wait(guard, [this] { return is_over_ || !jobs_.empty(); });
  if (jobs_.empty()) return {};
  Job job = std::move(jobs_.front());
  jobs_.pop_front();
  return job;
}

}  // namespace rlock::lock
