// Asks several servers at the same time, so that a dead server delays nothing.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <poll.h>
#include <string>
#include <system_error>

#include "base/fd.hpp"
#include "base/quiet_thread.hpp"
#include "redis/server_error.hpp"
#include "redis/socket.hpp"
#include "redis/url.hpp"

namespace rlock::redis {

// Asks each server in a thread of its own, which ends by the deadline.
template <typename Answer>
class Survey {
 public:
  // Asks one server. May throw. It must not refer to objects that may be gone before the deadline.
  using Question = std::function<Answer(const HostAndPort&, const Deadline&)>;

  struct Result {
    HostAndPort server;
    // One of these:
    std::optional<Answer> answer;
    std::optional<std::string> silence;  // why the server is Unavailable
    std::exception_ptr refusal;          // any other failure
  };

  // `deadline`: for the whole survey. Its cancel_fd ends `next` early.
  Survey(Question question, const Deadline& deadline)
      : question_(std::move(question)), deadline_(deadline) {}

  // Begins to ask a server. If no thread can be started, the result says so.
  void ask(const HostAndPort& server) {
    ++pending_;
    const auto work = [box = box_, question = question_, server, deadline = deadline_] {
      Result result{server, {}, {}, {}};
      try {
        Deadline until = deadline;
        until.cancel_fd = -1;
        result.answer = question(server, until);
      } catch (const Unavailable& error) {
        result.silence = error.what();
      } catch (...) {
        result.refusal = std::current_exception();
      }
      box->put(std::move(result));
    };
    try {
      start_quiet_thread(work).detach();
    } catch (const std::system_error& error) {
      const std::string why = "cannot start a thread to ask " + server.display() + ": ";
      box_->put({server, {}, why + error.what(), {}});
    }
  }

  // Returns for how many servers `next` has not returned a result yet.
  [[nodiscard]] int pending() const noexcept { return pending_; }

  // Waits for the next result. Returns nothing if none has come by `until`. Throws Interrupted.
  std::optional<Result> next(TimePoint until) {
    if (pending_ == 0) return std::nullopt;
    const TimePoint end = std::min(until, deadline_.when);
    if (!wait_for(box_->arrived.fd(), POLLIN, {end, deadline_.cancel_fd})) return std::nullopt;
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

    void put(Result result) {
      const std::lock_guard guard(mutex);
      results.push_back(std::move(result));
      arrived.raise();
    }
  };

  Question question_;
  Deadline deadline_;
  std::shared_ptr<Box> box_ = std::make_shared<Box>();
  int pending_ = 0;
};

}  // namespace rlock::redis
