#include "lock/holding/watchdog.hpp"

#include <algorithm>
#include <poll.h>
#include <utility>

#include "base/quiet_thread.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {

Watchdog::Watchdog(Options options) : options_(std::move(options)) {
  options_.session.client.wake_fd = stop_.fd();
}

void Watchdog::keep(const Lock& lock, const Hold& hold) {
  {
    const std::lock_guard guard(mutex_);
    kept_.push_back({&lock, hold, next_renewal(lock, hold, hold.deadline - hold.lease)});
    set_alarm(guard);
  }
  if (thread_.joinable()) return;
  try {
    thread_ = start_quiet_thread([this] { run(); });
  } catch (...) {
    kept_.pop_back();
    throw;
  }
}

void Watchdog::use(Session& session) {
  session.set_wake_fd(stop_.fd());
  session_ = &session;
}

void Watchdog::check() {
  const std::lock_guard guard(mutex_);
  const TimePoint now = BootClock::now();
  for (RenewedLock& kept : kept_) kept.asked = kept.due = now;
  if (!kept_.empty()) set_alarm(guard);
}

// The reserved time can be long (a search through many processes). Renew early enough all the same.
TimePoint Watchdog::next_renewal(const Lock& lock, const Hold& hold, TimePoint last) const {
  if (!options_.renews) return TimePoint::max();
  const TimePoint give_up = last_moment(hold.deadline, hold.lease, options_.reserve());
  // But leave a pause between renewals.
  const Nanoseconds interval = std::max<Nanoseconds>((give_up - last) * 2 / 3, hold.lease / 20);
  return last + std::min<Nanoseconds>(lock.renewal_interval(), interval);
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
  } catch (const std::exception&) {
    tell({Verdict::Kind::expiring, nullptr, std::current_exception()});
  }
}

void Watchdog::renew_all() {
  std::optional<Session> own;
  if (session_ == nullptr) {
    own.emplace(options_.session);
    connect_early(*own);
  }
  while (true) {
    RenewedLock& kept = next();
    auto verdict = renew(kept, own ? *own : *session_);
    if (!verdict) continue;
    tell(std::move(*verdict));
    const std::lock_guard guard(mutex_);
    kept_.remove_if([&](const RenewedLock& one) { return &one == &kept; });
    if (kept_.empty()) return;
  }
}

// Finds the master now: at the first renewal, all sentinels may be away.
void Watchdog::connect_early(Session& session) const {
  if (options_.session.client.endpoint.transport != redis::Endpoint::Transport::sentinel) return;
  try {
    session.client().connect();
  } catch (const Error&) {  // the renewal tries again
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

std::optional<Watchdog::Verdict> Watchdog::renew(RenewedLock& kept, Session& session) {
  Hold& hold = kept.hold;
  const TimePoint now = BootClock::now();
  const TimePoint give_up = last_moment(hold.deadline, hold.lease, options_.reserve());
  const bool late = now >= give_up;
  if (now >= hold.deadline || (late && kept.failure)) {
    return Verdict{Verdict::Kind::expiring, kept.lock, kept.failure};
  }
  TimePoint deadline = first_give_up(now);
  // A thread that wakes late (the machine slept, the job was stopped) still has one try. It must
  // not use up the time for ending the command.
  if (late) deadline = std::min(deadline, now + (hold.deadline - now) / 4);
  try {
    // Leave half of the time for the renewal.
    hear_of_failovers(session, hold.lease / 10, now + (deadline - now) / 2);
    const Renewal answer =
        options_.renews ? kept.lock->renew(session, &deadline) : kept.lock->ask(session);
    if (answer == Renewal::lost) return Verdict{Verdict::Kind::lost, kept.lock, nullptr};
    if (options_.renews) {
      hold.deadline = deadline;
      options_.on_renewed(*kept.lock, deadline);
    }
    kept.failure = nullptr;
    set_due(kept, next_renewal(*kept.lock, hold, now));
    note_answer(kept, now);
  } catch (const redis::Interrupted&) {
    throw;
  } catch (const std::exception&) {  // the lease may still be ours until its deadline
    kept.failure = std::current_exception();
    const Milliseconds retry = std::clamp(hold.lease / 60, Milliseconds(10), Milliseconds(500));
    set_due(kept, late ? now : std::min(after(BootClock::now(), retry), give_up));
  }
  return std::nullopt;
}

TimePoint Watchdog::first_give_up(TimePoint now) const {
  const Milliseconds reserve = options_.reserve();
  TimePoint first = TimePoint::max();
  const std::lock_guard guard(mutex_);
  for (const RenewedLock& kept : kept_) {
    const TimePoint when = last_moment(kept.hold.deadline, kept.hold.lease, reserve);
    if (when > now) first = std::min(first, when);
  }
  return first;
}

// Otherwise a run that still reaches a deposed master would renew there forever. If no sentinel
// answers, the run goes on, unless it had no descriptor to ask with. In a cluster, no other node is
// asked.
void Watchdog::hear_of_failovers(Session& session, Milliseconds bound, TimePoint deadline) {
  if (session.client().is_cluster()) return;
  try {
    const TimePoint until = std::min(after(BootClock::now(), bound), deadline);
    session.client().confirm_master("", bound, until);
  } catch (const redis::Unavailable&) {
    const Event answers, socket;  // throws Error where there are no descriptors left
  }
}

void Watchdog::note_answer(RenewedLock& kept, TimePoint sent) {
  {
    const std::lock_guard guard(mutex_);
    if (!kept.asked) return;
    if (sent < *kept.asked) {  // sent before the stop, for example
      kept.due = *kept.asked;
      return;
    }
    kept.asked.reset();
    if (std::ranges::any_of(kept_, [](const RenewedLock& one) { return one.asked.has_value(); }))
      return;
  }
  options_.on_checked();
}

void Watchdog::set_due(RenewedLock& kept, TimePoint when) {
  const std::lock_guard guard(mutex_);
  kept.due = when;
}

Watchdog::RenewedLock& Watchdog::next() {
  while (true) {
    {
      const std::lock_guard guard(mutex_);
      RenewedLock& next = set_alarm(guard);
      if (BootClock::now() >= next.due) return next;
    }
    static_cast<void>(redis::wait_for(alarm_.fd(), POLLIN, {TimePoint::max(), stop_.fd()}));
  }
}

Watchdog::RenewedLock& Watchdog::set_alarm(const Guard& /*guard*/) {
  RenewedLock& next = *std::ranges::min_element(kept_, {}, &RenewedLock::due);
  alarm_.set(next.due);
  return next;
}

}  // namespace rlock::lock
