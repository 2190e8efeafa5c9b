#include "cli/taking/wait_report.hpp"

#include <algorithm>
#include <unistd.h>
#include <utility>

#include "base/duration.hpp"
#include "base/environment.hpp"
#include "base/escape.hpp"
#include "base/process_identity.hpp"
#include "base/shell_quote.hpp"
#include "base/wording.hpp"
#include "cli/output/error_text.hpp"
#include "cli/output/holder_text.hpp"
#include "cli/output/remedy.hpp"
#include "cli/terminal/message.hpp"
#include "lock/words/held.hpp"
#include "lock/words/key_names.hpp"

namespace rlock::cli {
namespace {

constexpr Milliseconds k_interval{60'000};  // between two lines of -v about the same wait

// Returns what the wait is for, such as "waiting 3s (27s left) for web1 pid 4242 (backup)"; without
// the time left where `deadline` is TimePoint::max().
std::string describe_wait(const lock::Busy& busy, Milliseconds waited, TimePoint deadline) {
  std::string text = "waiting ";
  if (waited.count() > 0) text += format_duration(waited) + " ";
  if (deadline != TimePoint::max()) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(deadline - BootClock::now());
    text += "(" + format_seconds(left) + " left) ";
  }
  if (busy.place) text += "at position " + std::to_string(*busy.place + 1) + " ";
  text += "for ";
  const auto kept = describe_kept(busy.owner, busy.holder);
  text += busy.is_free() ? "its turn"
          : kept         ? "a lock that is " + *kept
                         : describe_holder(busy.owner, busy.holder);
  if (!kept && busy.held_for && busy.held_for->count() >= 0) {
    text += ", held for " + format_age(*busy.held_for);
  }
  if (busy.permits.value_or(1) > 1) {
    const int others = *busy.permits - 1;
    text += others == 1 ? ", or another holder"
                        : ", or one of " + std::to_string(others) + " more holders";
  }
  if (!busy.ttl) text += ", without an expiry";
  return text;
}

// Returns why the lock was not acquired.
std::string describe_refusal(const lock::Busy& busy) {
  const int permits = busy.permits.value_or(1);
  std::string text = "not acquired: " + if_lock(busy.ambiguity);
  const auto kept = describe_kept(busy.owner, busy.holder);
  if (permits > 1) text += "all " + std::to_string(permits) + " permits are ";
  if (kept) return text + (permits > 1 ? "taken, one of them " : "") + *kept;
  text += "held by " + describe_holder(busy.owner, busy.holder);
  if (busy.held_for && busy.held_for->count() >= 0) {
    text += " for " + format_age(*busy.held_for);
  }
  return first_of(text, static_cast<std::size_t>(permits));
}

// Returns what to say of a holder whose process has ended without a release.
std::string describe_dead(const lock::Busy& busy) {
  std::string text = "held by " + describe_holder(busy.owner, busy.holder) +
                     ", which has ended without giving it back";
  if (busy.ttl) text += "; its lease ends in " + format_duration(*busy.ttl);
  return text + "; if its command has ended, too: ";
}

// A semaphore's permit that another client has taken has no expiry as a rule.
bool is_lasting(const lock::Busy& busy) { return !busy.is_free() && !busy.ttl && !busy.permits; }

// Returns what to say of a lock that will not end by itself.
std::string describe_lasting(const lock::Busy& busy) {
  return if_lock(busy.ambiguity) + "held without an expiry by " +
         describe_holder(busy.owner, busy.holder) + ": it will not end by itself; ";
}

}  // namespace

WaitReport::WaitReport(const Request& request, const Globals& globals)
    : request_(request), globals_(globals), status_line_(globals.quiet) {}

void WaitReport::warn(const std::string& text) {
  if (globals_.quiet) return;
  status_line_.clear();
  say(escape_for_terminal(request_.wish.name) + ": " + text);
}

void WaitReport::tell_outage(const Error& error) {
  if (globals_.verbose) warn(std::string("still waiting: ") + error.what());
}

void WaitReport::report_unreachable() {
  for (const std::string& text : unreachable_server_changes(globals_)) {
    status_line_.clear();
    say(text);
  }
}

void WaitReport::tell_wait(const lock::Lock& lock, const lock::Busy& busy) {
  warn_of_timeout();
  tell_still_waiting(busy);
  warn_of_lasting(busy);
  warn_of_mix(lock);
  warn_of_ancestor(busy);
  report_unreachable();
  if (!status_line_.is_due()) return;
  status_line_.show(escape_for_terminal(request_.wish.name) + ": " +
                    describe_wait(busy, status_line_.waited(), request_.deadline));
}

// There may be no terminal.
void WaitReport::tell_still_waiting(const lock::Busy& busy) {
  const TimePoint now = BootClock::now();
  if (!globals_.verbose || now < next_) return;
  if (!begin_) begin_ = now;
  warn(describe_wait(busy, std::chrono::floor<Milliseconds>(now - *begin_), request_.deadline));
  next_ = after(now, k_interval);
}

bool WaitReport::doubts(const lock::Busy& busy) {
  if (globals_.quiet || is_running(busy.holder.pid, busy.holder.process) != false) return false;
  dead_ = busy.holder.process;
  return true;
}

void WaitReport::tell_refusal(const lock::Lock& lock, const lock::Busy& busy) {
  const bool is_told = static_cast<int>(request_.conflict) != 0 || globals_.verbose;
  if (!is_told) warn_of_lasting(busy);
  const bool is_dead = !dead_.empty() && busy.holder.process == dead_;
  if (is_dead) warn((is_told ? "not acquired: " : "") + describe_dead(busy) + remedy(busy));
  if (!is_told) return;
  warn_of_mix(lock);
  warn_of_ancestor(busy);
  if (is_dead || BootClock::now() < request_.deadline) return;
  if (busy.is_free()) {
    warn("not acquired: the lock is free, but others in its queue are first: " +
         rlock_for_all("inspect-queue " + shell_operands({request_.wish.name}), globals_));
  } else if (is_lasting(busy) && !warned_of_lasting_) {
    warn("not acquired: " + describe_lasting(busy) + lasting_remedy(busy));
  } else {
    warn(describe_refusal(busy));
  }
}

void WaitReport::tell_grant(const lock::Lock& lock) {
  warn_of_mix(lock);
  if (!begin_) return;
  const auto waited = std::chrono::floor<Milliseconds>(BootClock::now() - *begin_);
  warn("acquired after " + format_duration(waited));
}

// A user of flock(1) knows an option of this name that ends the wait.
void WaitReport::warn_of_timeout() {
  if (!globals_.timeout || request_.deadline != TimePoint::max()) return;
  if (std::exchange(globals_.known->has_told_timeout, true)) return;
  warn("waiting without a limit: --timeout limits each request to the server; -w limits the wait");
}

void WaitReport::warn_of_lasting(const lock::Busy& busy) {
  if (!is_lasting(busy) || std::exchange(warned_of_lasting_, true)) return;
  warn(describe_lasting(busy) + lasting_remedy(busy));
}

void WaitReport::warn_of_mix(const lock::Lock& lock) {
  if (lock.is_mixed() && !std::exchange(warned_of_mix_, true)) {
    warn(
        "used with and without --fair: the runs exclude each other, but only those with --fair "
        "queue");
  }
  if (lock.has_twin() && !std::exchange(warned_of_twin_, true)) {
    warn("'" + escape_for_terminal(lock::brace_alias(request_.wish.name).value_or("")) +
         "' is in use, too: both names have one queue and one token counter. Each lock still "
         "excludes, but its waiters may wait longer; choose another name");
  }
}

// An ancestor as a rule waits for this run, so that neither would ever go on. A shell runs its last
// command in its own place, so the holder may also be what this process was before.
void WaitReport::warn_of_ancestor(const lock::Busy& busy) {
  if (warned_of_ancestor_ || busy.is_free()) return;
  if (!is_this_or_above(busy.holder.pid, busy.holder.process)) return;
  warned_of_ancestor_ = true;
  const auto outer =
      lock::find_all_held(from_environment(lock::k_held_variable).value_or(""), request_.wish.name);
  const bool is_passed_on = std::ranges::any_of(
      outer, [&](const lock::HeldEntry& entry) { return busy.owner.starts_with(entry.owner); });
  const char* const hint =
      is_passed_on    ? "a nested run re-enters only the same kind of lock"
      : outer.empty() ? "to re-enter, pass RLOCK_HELD on, as with sudo --preserve-env=RLOCK_HELD "
                        "or rlock acquire --export"
                      : "RLOCK_HELD lists another owner of this name in its place";
  warn("held by " + describe_holder(busy.owner, busy.holder) +
       (busy.holder.pid == ::getpid() ? ", which has become this process: "
                                      : ", an ancestor of this process, which may wait for it: ") +
       hint);
}

// Returns what takes the lock from its dead holder, and from no other.
std::string WaitReport::remedy(const lock::Busy& busy) const {
  const bool is_shared = lock::traits_of(request_.wish.kind).is_shared;
  if (!is_shared || busy.owner.ends_with(":write")) return remedy();
  return rlock_for_all(
      "unlock --owner " + shell_quote(busy.owner) + " " + shell_operands({request_.wish.name}),
      globals_);
}

std::string WaitReport::lasting_remedy(const lock::Busy& busy) const {
  if (busy.ambiguity == lock::Ambiguity::hash) return k_break_any_hash;
  if (busy.ambiguity == lock::Ambiguity::string) return k_break_any_string;
  if (busy.owner.empty()) {  // of several holders, some may be an application's fields
    return "to see its holders: " +
           rlock_for_all("inspect-queue " + shell_operands({request_.wish.name}), globals_);
  }
  return "if its holder is gone: " + remedy();
}

std::string WaitReport::remedy() const {
  const bool is_string = lock::traits_of(request_.wish.kind).shape == lock::Shape::string;
  const std::string kind = is_string ? "--kind simple " : "";
  return rlock_for_all("unlock --force " + kind + shell_operands({request_.wish.name}), globals_);
}

}  // namespace rlock::cli
