#include "cli/held_locks.hpp"

#include <algorithm>
#include <utility>

#include "base/escape.hpp"
#include "cli/message.hpp"

namespace rlock::cli {

HeldLocks::HeldLocks(redis::Client& client, Options options)
    : client_(client), options_(std::move(options)) {}

void HeldLocks::add(Taken taken) {
  const TimePoint end = taken.lease.deadline;
  note_end(holds_.emplace_back(std::move(taken)), end);
}

void HeldLocks::start_watchdogs() {
  for (Hold& hold : holds_) {
    if (!options_.renew || hold.watchdog) continue;
    lock::Watchdog::Options options;
    options.client = options_.watchdog_client;
    options.reserve = options_.reserve;
    options.on_renewed = [this, &hold](TimePoint end) { note_end(hold, end); };
    options.on_verdict = [this] { lost_.raise(); };
    hold.watchdog.emplace(*hold.taken.lock, hold.taken.lease, std::move(options));
  }
}

bool HeldLocks::is_lost() const {
  return std::any_of(holds_.begin(), holds_.end(),
                     [](const Hold& hold) { return hold.watchdog && hold.watchdog->verdict(); });
}

TimePoint HeldLocks::end() const {
  const std::lock_guard guard(mutex_);
  TimePoint first = TimePoint::max();
  for (const Hold& hold : holds_) first = std::min(first, hold.end);
  return first;
}

bool HeldLocks::are_ours() {
  try {
    return std::all_of(holds_.begin(), holds_.end(), [&](const Hold& hold) {
      const lock::ReentrantLock& lock = *hold.taken.lock;
      const auto answer = options_.renew ? lock.renew(client_) : lock.ask(client_);
      return answer == lock::Renewal::renewed && BootClock::now() < end();
    });
  } catch (const Error&) {
    return false;
  }
}

void HeldLocks::for_each(const std::function<void(const lock::ReentrantLock&)>& action) const {
  for (const Hold& hold : holds_) action(*hold.taken.lock);
}

void HeldLocks::report_loss() const {
  const auto reason = [this](const Hold& hold) -> std::optional<std::string> {
    if (const auto verdict = hold.watchdog ? hold.watchdog->verdict() : std::nullopt) {
      return verdict->reason;
    }
    if (!options_.renew || BootClock::now() >= end()) return "its lease has ended";
    return std::nullopt;
  };
  const auto tell = [](const Hold& hold, const std::string& why) {
    say(escape_for_terminal(hold.taken.lock->name()) + ": lock lost: " + why);
  };
  bool told = false;
  for (const Hold& hold : holds_) {
    if (const auto why = reason(hold)) {
      tell(hold, *why);
      told = true;
    }
  }
  if (told) return;
  // The guardian was quicker than the watchdogs, or the server did not confirm it after a stop.
  for (const Hold& hold : holds_) tell(hold, "it was not confirmed in time");
}

std::vector<std::string> HeldLocks::release(Milliseconds keep) noexcept {
  std::vector<std::string> not_held;
  client_.set_wake_fd(-1);
  for (Hold& hold : holds_) {
    if (hold.watchdog) hold.watchdog->stop();
  }
  for (auto hold = holds_.rbegin(); hold != holds_.rend(); ++hold) {
    if (BootClock::now() >= hold->end) continue;
    try {
      const auto answer = hold->taken.lock->release(client_, keep);
      if (answer == lock::Release::not_held) not_held.push_back(hold->taken.lock->name());
    } catch (const std::exception& error) {
      say(escape_for_terminal(hold->taken.lock->name()) +
          ": not released, it ends with its lease: " + error.what());
    }
  }
  return not_held;
}

void HeldLocks::note_end(Hold& hold, TimePoint when) {
  {
    const std::lock_guard guard(mutex_);
    hold.end = when;
  }
  options_.on_end_moved(end());
}

}  // namespace rlock::cli
