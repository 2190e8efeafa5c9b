#include "lock/watchdog.hpp"

#include <algorithm>
#include <poll.h>
#include <utility>

#include "base/quiet_thread.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {

Watchdog::Watchdog(Options options) : options_(std::move(options)) {
  options_.session.client.wake_fd = stop_.fd();
}

void Watchdog::keep(const Lock& lock, const Lease& lease) {
  {
    const std::lock_guard guard(mutex_);
    kept_.push_back({&lock, lease, lease.deadline - lease.length + lock.renewal_interval()});
    set_alarm();
  }
  if (!thread_.joinable()) thread_ = start_quiet_thread([this] { run(); });
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
  try {
    renew_all();
  } catch (const redis::Interrupted&) {  // told to stop
  } catch (const std::exception& error) {
    tell({Verdict::Kind::expiring, nullptr, error.what()});
  }
}

void Watchdog::renew_all() {
  Session session(options_.session);
  while (true) {
    Kept& kept = next();
    auto verdict = renew(kept, session);
    if (!verdict) continue;
    tell(std::move(*verdict));
    const std::lock_guard guard(mutex_);
    kept_.remove_if([&](const Kept& one) { return &one == &kept; });
    if (kept_.empty()) return;
  }
}

void Watchdog::tell(Verdict verdict) {
  {
    const std::lock_guard guard(mutex_);
    if (verdict_) return;
    verdict_ = std::move(verdict);
  }
  options_.on_verdict();
}

std::optional<Watchdog::Verdict> Watchdog::renew(Kept& kept, Session& session) {
  Lease& lease = kept.lease;
  const TimePoint now = BootClock::now();
  const TimePoint give_up = last_moment(lease.deadline, lease.length, options_.reserve);
  const bool late = now >= give_up;
  if (now >= lease.deadline || (late && kept.failure)) {
    return Verdict{Verdict::Kind::expiring, kept.lock,
                   kept.failure.value_or("no time was left to renew it")};
  }
  // A thread that wakes late (the machine slept, the job was stopped) still has one try, which must
  // not use up the time for ending the command.
  TimePoint deadline = late ? now + (lease.deadline - now) / 4 : give_up;
  try {
    // One who still reaches a master of old would renew there for ever. Half of the time is left.
    session.client().confirm_master(
        lease.length / 10, std::min(after(now, lease.length / 10), now + (deadline - now) / 2));
    if (kept.lock->renew(session, &deadline) == Renewal::lost) {
      return Verdict{Verdict::Kind::lost, kept.lock,
                     "it was deleted or evicted, or somebody else has it"};
    }
    lease.deadline = deadline;
    options_.on_renewed(*kept.lock, deadline);
    kept.failure.reset();
    set_due(kept, after(now, kept.lock->renewal_interval()));
  } catch (const redis::Interrupted&) {
    throw;
  } catch (const Error& error) {  // the lease may still be ours until its deadline
    kept.failure = error.what();
    const Milliseconds retry = std::clamp(lease.length / 60, Milliseconds(10), Milliseconds(500));
    set_due(kept, late ? now : std::min(after(BootClock::now(), retry), give_up));
  }
  return std::nullopt;
}

void Watchdog::set_due(Kept& kept, TimePoint when) {
  const std::lock_guard guard(mutex_);
  kept.due = when;
}

Watchdog::Kept& Watchdog::next() {
  while (true) {
    Kept* next = nullptr;
    {
      const std::lock_guard guard(mutex_);
      next = &set_alarm();
    }
    if (BootClock::now() >= next->due) return *next;
    static_cast<void>(redis::wait_for(alarm_.fd(), POLLIN, {TimePoint::max(), stop_.fd()}));
  }
}

Watchdog::Kept& Watchdog::set_alarm() {
  Kept& next =
      *std::min_element(kept_.begin(), kept_.end(),
                        [](const Kept& one, const Kept& other) { return one.due < other.due; });
  alarm_.set(next.due);
  return next;
}

}  // namespace rlock::lock
