#include "cli/taking/held_locks.hpp"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/wording.hpp"
#include "cli/output/holder_text.hpp"
#include "cli/terminal/message.hpp"

namespace rlock::cli {
namespace {

constexpr const char* k_not_renewable = "it cannot be renewed: ";

std::string describe(const lock::Watchdog::Verdict& verdict) {
  if (verdict.kind == lock::Watchdog::Verdict::Kind::lost) return k_not_ours;
  if (!verdict.why) return "no time was left to renew it";
  try {
    std::rethrow_exception(verdict.why);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

HeldLocks::HeldLocks(lock::Session& session, Options options)
    : session_(session), options_(std::move(options)) {}

void HeldLocks::add(HeldLock held) {
  const std::lock_guard guard(mutex_);
  const auto next = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.lock->name() > held.lock->name(); });
  entries_.insert(next, {std::move(held)});
  options_.on_end_moved(first_end(guard));
}

void HeldLocks::start_watchdog(Use use) {
  if (options_.renew && !entries_.empty()) watch(use);
}

void HeldLocks::watch(Use use) {
  try {
    if (!watchdog_) {
      watchdog_.emplace(lock::Watchdog::Options{
          .session = options_.watchdog_session,
          .renews = options_.renew,
          .reserve = options_.reserve,
          .on_renewed = [this](const lock::Lock& lock, TimePoint end) { note_end(lock, end); },
          .on_verdict = [this] { lost_.raise(); },
          .on_checked = [this] { answer_.raise(); }});
      if (use == Use::our_session) watchdog_->use(session_);
    }
    for (Entry& entry : entries_) {
      if (!entry.is_kept) watchdog_->keep(*entry.lock, entry.hold);
      entry.is_kept = true;
    }
    return;
  } catch (const std::system_error& error) {
    failure_ = "no thread can be started to renew it: " + error.code().message();
  } catch (const Error& error) {
    failure_ = std::string(k_not_renewable) + error.what();
  }
  throw Error(ExitStatus::unavailable, names() + ": " + failure_);
}

void HeldLocks::check_watchdog() const {
  const auto verdict = watchdog_ ? watchdog_->verdict() : std::nullopt;
  if (!verdict || verdict->lock != nullptr) return;
  throw Error(ExitStatus::unavailable, names() + ": " + k_not_renewable + describe(*verdict));
}

std::string HeldLocks::names() const {
  return first_of(escape_for_terminal(entries_.front().lock->name()), entries_.size());
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
  return std::ranges::any_of(
      entries_, [&](const Entry& entry) { return BootClock::now() >= last_moment(entry, guard); });
}

TimePoint HeldLocks::last_moment(const Entry& entry, const Guard& /*guard*/) const {
  return lock::last_moment(entry.hold.deadline, entry.hold.lease, options_.reserve());
}

TimePoint HeldLocks::end() const {
  const std::lock_guard guard(mutex_);
  return first_end(guard);
}

TimePoint HeldLocks::first_end(const Guard& /*guard*/) const {
  TimePoint first = TimePoint::max();
  for (const Entry& entry : entries_) first = std::min(first, entry.hold.deadline);
  return first;
}

TimePoint HeldLocks::loss_time() const {
  const std::lock_guard guard(mutex_);
  TimePoint first = TimePoint::max();
  for (const Entry& entry : entries_) {
    if (!options_.renew || !entry.is_kept) first = std::min(first, last_moment(entry, guard));
  }
  return first;
}

void HeldLocks::for_each(const std::function<void(const HeldLock&)>& action) const {
  for (const Entry& entry : entries_) action(entry);
}

void HeldLocks::report_loss(const std::string& otherwise) const {
  const auto verdict = watchdog_ ? watchdog_->verdict() : std::nullopt;
  const auto reason = [&](const Entry& entry) -> std::optional<std::string> {
    if (verdict && (verdict->lock == nullptr || verdict->lock == entry.lock.get())) {
      return describe(*verdict);
    }
    const std::lock_guard guard(mutex_);
    const bool is_renewed = options_.renew && entry.is_kept;
    const TimePoint end = is_renewed ? entry.hold.deadline : last_moment(entry, guard);
    if (BootClock::now() < end) return std::nullopt;
    return failure_.empty() ? "its lease has ended" : failure_;
  };
  bool told = false;
  for (const Entry& entry : entries_) {
    if (const auto why = reason(entry)) {
      say(describe_loss(entry.lock->name(), *why));
      told = true;
    }
  }
  if (told) return;
  for (const Entry& entry : entries_) say(describe_loss(entry.lock->name(), otherwise));
}

HeldLocks::Released HeldLocks::release(Milliseconds keep) noexcept {
  Released released;
  if (watchdog_) watchdog_->stop();  // first: it may use the session
  session_.set_wake_fd(-1);
  redis::Client& client = session_.client();
  const Milliseconds usual = client.options().timeout;
  std::set<std::string> hanging;  // nodes: each further lock of one would cost as much time
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    const TimePoint start = BootClock::now();
    if (start >= entry->hold.deadline) {
      released.ended.push_back(entry->lock->name());
      continue;
    }
    const std::string not_released =
        escape_for_terminal(entry->lock->name()) + ": not released, it ends with its lease: ";
    const Milliseconds bound =
        std::min(usual, std::chrono::ceil<Milliseconds>(entry->hold.deadline - start));
    client.set_timeout(bound);
    std::string node;
    try {
      // "" is among them where no node could tell who keeps a lock.
      if (!hanging.contains("")) node = client.node_of(entry->lock->name());
      if (hanging.contains(node)) {
        say(not_released + "the server did not answer before");
        is_one_left_ = true;
        continue;
      }
      const auto answer = entry->lock->release(session_, keep);
      if (answer == lock::Release::not_held) released.not_held.push_back(entry->lock->name());
    } catch (const std::exception& error) {
      is_one_left_ = true;
      if (BootClock::now() < entry->hold.deadline) {
        say(not_released + error.what());
      } else {
        released.ended.push_back(entry->lock->name());
      }
      if (bound == usual && BootClock::now() >= after(start, bound)) hanging.insert(node);
    }
  }
  client.set_timeout(usual);
  return released;
}

bool HeldLocks::release_all() noexcept {
  if (entries_.empty()) return true;
  const int wake_fd = session_.wake_fd();
  release(Milliseconds(0));
  session_.set_wake_fd(wake_fd);
  watchdog_.reset();
  entries_.clear();
  lost_.clear();
  options_.on_end_moved(end());
  return !std::exchange(is_one_left_, false);
}

void HeldLocks::note_end(const lock::Lock& lock, TimePoint when) {
  const std::lock_guard guard(mutex_);
  for (Entry& entry : entries_) {
    if (entry.lock.get() == &lock) entry.hold.deadline = when;
  }
  options_.on_end_moved(first_end(guard));
}

}  // namespace rlock::cli
