#include "lock/servers/outage_retry.hpp"

#include <algorithm>
#include <utility>

#include "lock/servers/restart.hpp"
#include "redis/socket.hpp"

namespace rlock::lock {
namespace {

constexpr Milliseconds k_first_pause{100};
constexpr Milliseconds k_longest_pause{1000};

}  // namespace

OutageRetry::OutageRetry(TimePoint deadline, std::function<void(const Error&)> on_begin,
                         Milliseconds longest)
    : deadline_(deadline),
      on_begin_(std::move(on_begin)),
      longest_(longest),
      pause_(k_first_pause) {}

void OutageRetry::reset() {
  until_.reset();
  pause_ = k_first_pause;
}

void OutageRetry::wait_or_throw(const Error& error, int wake_fd) {
  if (!error.is_temporary()) throw;
  const TimePoint now = BootClock::now();
  const bool is_first = !until_;
  if (is_first || dynamic_cast<const Restarted*>(&error) != nullptr) {
    until_ = std::min(after(now, longest_), deadline_);
  }
  if (is_first) on_begin_(error);
  if (now >= *until_) throw;
  redis::pause({std::min(after(now, pause_), *until_), wake_fd});
  pause_ = std::min(pause_ * 2, k_longest_pause);
}

}  // namespace rlock::lock
