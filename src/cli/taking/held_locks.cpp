#include "cli/taking/held_locks.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/escape.hpp"
#include "cli/terminal/message.hpp"

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

void HeldLocks::start_watchdog(Use use) {
  if (options_.renew && !holds_.empty()) watch(use);
}

void HeldLocks::watch(Use use) {
  if (!watchdog_) {
    lock::Watchdog::Options options;
    options.session = options_.watchdog_session;
    options.renews = options_.renew;
    options.reserve = options_.reserve;
    options.on_renewed = [this](const lock::Lock& lock, TimePoint end) { note_end(lock, end); };
    options.on_verdict = [this] { lost_.raise(); };
    options.on_checked = [this] { answer_.raise(); };
    watchdog_.emplace(std::move(options));
    if (use == Use::our_session) watchdog_->use(session_);
  }
  try {
    for (Hold& hold : holds_) {
      if (!hold.is_kept) watchdog_->keep(*hold.taken.lock, hold.taken.lease);
      hold.is_kept = true;
    }
  } catch (const std::system_error& error) {
    failure_ = "no thread can be started to renew it: " + error.code().message();
    throw Error(ExitStatus::unavailable, failure_);
  }
}

void HeldLocks::ask() {
  answer_.clear();
  try {
    watch(Use::our_session);  // where it does not run yet
    watchdog_->check();
  } catch (const Error&) {  // then there is no answer
  }
}

bool HeldLocks::is_lost() const {
  if (watchdog_ && watchdog_->verdict()) return true;
  const std::lock_guard guard(mutex_);
  return std::any_of(holds_.begin(), holds_.end(),
                     [&](const Hold& hold) { return is_too_late(hold); });
}

bool HeldLocks::is_too_late(const Hold& hold) const {
  return BootClock::now() >=
         lock::last_moment(hold.end, hold.taken.lease.length, options_.reserve());
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

TimePoint HeldLocks::loss_time() const {
  const std::lock_guard guard(mutex_);
  TimePoint first = TimePoint::max();
  for (const Hold& hold : holds_) {
    if (options_.renew && hold.is_kept) continue;
    first =
        std::min(first, lock::last_moment(hold.end, hold.taken.lease.length, options_.reserve()));
  }
  return first;
}

void HeldLocks::for_each(const std::function<void(const Taken&)>& action) const {
  for (const Hold& hold : holds_) action(hold.taken);
}

void HeldLocks::report_loss(const std::string& otherwise) const {
  const auto verdict = watchdog_ ? watchdog_->verdict() : std::nullopt;
  const auto reason = [&](const Hold& hold) -> std::optional<std::string> {
    if (verdict && (verdict->lock == nullptr || verdict->lock == hold.taken.lock.get())) {
      return verdict->reason;
    }
    const std::lock_guard guard(mutex_);
    const bool is_renewed = options_.renew && hold.is_kept;
    if (is_renewed ? BootClock::now() < hold.end : !is_too_late(hold)) return std::nullopt;
    return failure_.empty() ? "its lease has ended" : failure_;
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
  for (const Hold& hold : holds_) tell(hold, otherwise);
}

std::vector<std::string> HeldLocks::release(Milliseconds keep) noexcept {
  std::vector<std::string> not_held;
  if (watchdog_) watchdog_->stop();  // first: it may use the session
  session_.set_wake_fd(-1);
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
