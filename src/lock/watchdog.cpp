#include "lock/watchdog.hpp"

#include <algorithm>
#include <poll.h>
#include <utility>

#include "base/quiet_thread.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {

Watchdog::Watchdog(const ReentrantLock& lock, const Lease& lease, Options options)
    : lock_(lock), lease_(lease), options_(std::move(options)) {
  options_.client.wake_fd = stop_.fd();
  thread_ = start_quiet_thread([this] { run(); });
}

void Watchdog::stop() noexcept {
  if (!thread_.joinable()) return;
  stop_.raise();
  thread_.join();
}

std::optional<Watchdog::Verdict> Watchdog::verdict() const {
  const std::lock_guard guard(mutex_);
  return verdict_;
}

void Watchdog::run() noexcept {
  std::optional<Verdict> verdict;
  try {
    verdict = renew_until_lost();
  } catch (const redis::Interrupted&) {  // told to stop
  } catch (const std::exception& error) {
    verdict = Verdict{Verdict::Kind::expiring, error.what()};
  }
  if (!verdict) return;
  {
    const std::lock_guard guard(mutex_);
    verdict_ = std::move(verdict);
  }
  options_.on_verdict();
}

std::optional<Watchdog::Verdict> Watchdog::renew_until_lost() {
  redis::Client client(options_.client);
  const Milliseconds interval = lease_.length / 3;
  const Milliseconds retry = std::clamp(lease_.length / 60, Milliseconds(10), Milliseconds(500));
  std::optional<std::string> failure;  // of the last attempt
  TimePoint next = lease_.deadline - lease_.length + interval;
  while (sleep_until(next)) {
    const TimePoint now = BootClock::now();
    const TimePoint give_up = last_moment(lease_.deadline, lease_.length, options_.reserve);
    const bool late = now >= give_up;
    if (now >= lease_.deadline || (late && failure)) {
      return Verdict{Verdict::Kind::expiring, failure.value_or("no time was left to renew it")};
    }
    // A thread that wakes late (the machine slept, the job was stopped) still has one try, which
    // must not use up the time for ending the command.
    TimePoint deadline = late ? now + (lease_.deadline - now) / 4 : give_up;
    try {
      if (lock_.renew(client, &deadline) == Renewal::lost) {
        return Verdict{Verdict::Kind::lost, "it was deleted or evicted, or somebody else has it"};
      }
      lease_.deadline = deadline;
      options_.on_renewed(deadline);
      failure.reset();
      next = deadline - lease_.length + interval;
    } catch (const redis::Interrupted&) {
      throw;
    } catch (const Error& error) {  // the lease may still be ours until its deadline
      failure = error.what();
      next = late ? now : std::min(after(BootClock::now(), retry), give_up);
    }
  }
  return std::nullopt;
}

bool Watchdog::sleep_until(TimePoint when) {
  alarm_.set(when);
  return redis::wait_for(alarm_.fd(), POLLIN, {TimePoint::max(), stop_.fd()});
}

}  // namespace rlock::lock
