#include "cli/held_locks.hpp"

#include <algorithm>
#include <utility>

#include "base/escape.hpp"
#include "cli/message.hpp"

namespace rlock::cli {

HeldLocks::HeldLocks(lock::Session& session, Options options)
    : session_(session), options_(std::move(options)) {}

void HeldLocks::add(Taken taken) {
  const std::lock_guard guard(mutex_);
  const auto next = std::find_if(holds_.begin(), holds_.end(), [&](const Hold& hold) {
    return hold.taken.lock->name() > taken.lock->name();
  });
  holds_.emplace(next, std::move(taken));
  options_.on_end_moved(first_end());
}

void HeldLocks::start_watchdog() {
  if (!options_.renew || holds_.empty()) return;
  if (!watchdog_) {
    lock::Watchdog::Options options;
    options.session = options_.watchdog_session;
    options.reserve = options_.reserve;
    options.on_renewed = [this](const lock::Lock& lock, TimePoint end) { note_end(lock, end); };
    options.on_verdict = [this] { lost_.raise(); };
    watchdog_.emplace(std::move(options));
  }
  for (Hold& hold : holds_) {
    if (!hold.is_kept) watchdog_->keep(*hold.taken.lock, hold.taken.lease);
    hold.is_kept = true;
  }
}

bool HeldLocks::is_lost() const {
  if (watchdog_ && watchdog_->verdict()) return true;
  const std::lock_guard guard(mutex_);
  return std::any_of(holds_.begin(), holds_.end(),
                     [&](const Hold& hold) { return is_too_late(hold); });
}

bool HeldLocks::is_too_late(const Hold& hold) const {
  return BootClock::now() >= lock::last_moment(hold.end, hold.taken.lease.length, options_.reserve);
}

TimePoint HeldLocks::end() const {
  const std::lock_guard guard(mutex_);
  return first_end();
}

TimePoint HeldLocks::first_end() const {
  TimePoint first = TimePoint::max();
  for (const Hold& hold : holds_) first = std::min(first, hold.end);
  return first;
}

bool HeldLocks::are_ours() {
  try {
    return std::all_of(holds_.begin(), holds_.end(), [&](const Hold& hold) {
      const lock::Lock& lock = *hold.taken.lock;
      const auto answer = options_.renew ? lock.renew(session_, nullptr) : lock.ask(session_);
      return answer == lock::Renewal::renewed && BootClock::now() < end();
    });
  } catch (const Error&) {
    return false;
  }
}

void HeldLocks::for_each(const std::function<void(const Taken&)>& action) const {
  for (const Hold& hold : holds_) action(hold.taken);
}

void HeldLocks::report_loss() const {
  const auto verdict = watchdog_ ? watchdog_->verdict() : std::nullopt;
  const auto reason = [&](const Hold& hold) -> std::optional<std::string> {
    if (verdict && verdict->lock == hold.taken.lock.get()) return verdict->reason;
    const std::lock_guard guard(mutex_);
    if (options_.renew ? BootClock::now() >= hold.end : is_too_late(hold)) {
      return "its lease has ended";
    }
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
  // The guardian was quicker than the watchdog, or the server did not confirm it after a stop.
  for (const Hold& hold : holds_) tell(hold, "it was not confirmed in time");
}

std::vector<std::string> HeldLocks::release(Milliseconds keep) noexcept {
  std::vector<std::string> not_held;
  session_.set_wake_fd(-1);
  if (watchdog_) watchdog_->stop();
  for (auto hold = holds_.rbegin(); hold != holds_.rend(); ++hold) {
    if (BootClock::now() >= hold->end) continue;
    try {
      const auto answer = hold->taken.lock->release(session_, keep);
      if (answer == lock::Release::not_held) not_held.push_back(hold->taken.lock->name());
    } catch (const std::exception& error) {
      say(escape_for_terminal(hold->taken.lock->name()) +
          ": not released, it ends with its lease: " + error.what());
    }
  }
  return not_held;
}

void HeldLocks::let_go() noexcept {
  if (holds_.empty()) return;
  const int wake_fd = session_.wake_fd();
  release(Milliseconds(0));
  session_.set_wake_fd(wake_fd);
  watchdog_.reset();
  holds_.clear();
  lost_.clear();
  options_.on_end_moved(end());
}

void HeldLocks::note_end(const lock::Lock& lock, TimePoint when) {
  const std::lock_guard guard(mutex_);
  for (Hold& hold : holds_) {
    if (hold.taken.lock.get() == &lock) hold.end = when;
  }
  options_.on_end_moved(first_end());
}

}  // namespace rlock::cli
