// Asks several servers side by side, so that one that is dead or cut off costs next to nothing.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <poll.h>
#include <system_error>

#include "base/fd.hpp"
#include "base/quiet_thread.hpp"
#include "redis/server_error.hpp"
#include "redis/socket.hpp"
#include "redis/url.hpp"

namespace rlock::redis {

// Each server is asked in a thread of its own, which ends by the deadline, also if nobody waits for
// its answer any longer.
template <typename Answer>
class Survey {
 public:
  // Asks one server; may throw. It must not refer to what may be gone before the deadline.
  using Question = std::function<Answer(const HostAndPort&, const Patience&)>;

  struct Result {
    HostAndPort server;
    std::optional<Answer> answer;
    std::exception_ptr failure;  // instead of an answer
  };

  // `patience`: of the whole; its wake_fd ends `next` early.
  Survey(Question question, const Patience& patience)
      : question_(std::move(question)), patience_(patience) {}

  // Begins to ask a server. Without a thread for it, the result is that failure.
  void ask(const HostAndPort& server) {
    ++pending_;
    const auto work = [box = box_, question = question_, server, patience = patience_] {
      Result result{server, {}, {}};
      try {
        Patience until = patience;
        until.wake_fd = -1;
        result.answer = question(server, until);
      } catch (...) {
        result.failure = std::current_exception();
      }
      const std::lock_guard guard(box->mutex);
      box->results.push_back(std::move(result));
      box->arrived.raise();
    };
    try {
      start_quiet_thread(work).detach();
    } catch (const std::system_error& error) {
      const std::lock_guard guard(box_->mutex);
      const Unavailable failure("no thread to ask " + server.display() + ": " + error.what());
      box_->results.push_back({server, {}, std::make_exception_ptr(failure)});
      box_->arrived.raise();
    }
  }

  // Returns how many servers have been asked whose results `next` has not returned.
  [[nodiscard]] int pending() const noexcept { return pending_; }

  // Returns the next result, or nothing if none has come by `until`. Throws Interrupted.
  std::optional<Result> next(TimePoint until) {
    if (pending_ == 0) return std::nullopt;
    const TimePoint end = std::min(until, patience_.deadline);
    if (!wait_for(box_->arrived.fd(), POLLIN, {end, patience_.wake_fd})) return std::nullopt;
    const std::lock_guard guard(box_->mutex);
    Result result = std::move(box_->results.front());
    box_->results.pop_front();
    if (box_->results.empty()) box_->arrived.clear();
    --pending_;
    return result;
  }

 private:
  struct Box {
    std::mutex mutex;
    Event arrived;
    std::deque<Result> results;
  };

  Question question_;
  Patience patience_;
  std::shared_ptr<Box> box_ = std::make_shared<Box>();
  int pending_ = 0;
};

}  // namespace rlock::redis
