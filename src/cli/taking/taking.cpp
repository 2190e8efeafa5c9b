#include "cli/taking/taking.hpp"

#include <signal.h>

#include "base/duration.hpp"
#include "base/environment.hpp"
#include "base/escape.hpp"
#include "base/process_identity.hpp"
#include "base/shell_quote.hpp"
#include "base/wording.hpp"
#include "cli/output/holder_text.hpp"
#include "cli/output/remedy.hpp"
#include "cli/taking/own_hold.hpp"
#include "cli/terminal/message.hpp"
#include "cli/terminal/transient_line.hpp"
#include "lock/holding/waiting.hpp"
#include "lock/servers/outage.hpp"
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
    text += ", which has held it for " + format_duration(*busy.held_for);
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
  if (busy.is_free()) return "not acquired: others are first";
  const int permits = busy.permits.value_or(1);
  std::string text = std::string("not acquired: ") + (busy.is_any_string ? k_if_lock : "");
  if (permits > 1) text += "all " + std::to_string(permits) + " permits are ";
  text += describe_kept(busy.owner, busy.holder)
              .value_or("held by " + describe_holder(busy.owner, busy.holder));
  if (busy.holder.kept_until_ms == 0 && busy.held_for && busy.held_for->count() >= 0) {
    text += " for " + format_duration(*busy.held_for);
  }
  return first_of(text, static_cast<std::size_t>(permits));
}

// Returns what to say of a holder whose process has ended without giving the lock back.
std::string describe_dead(const lock::Busy& busy) {
  std::string text = "held by " + describe_holder(busy.owner, busy.holder) +
                     ", which has ended without giving it back";
  if (busy.ttl) text += "; its lease ends in " + format_duration(*busy.ttl);
  return text + "; if nothing of it runs any more: ";
}

// The messages on stderr while rlock waits for a lock, and when it does not get the lock. With -q
// there are none. Some messages need -v.
class WaitReport {
 public:
  // Both must outlive this object.
  WaitReport(const Request& request, const Globals& globals)
      : request_(request), globals_(globals), status_line_(globals.quiet) {}

  void tell_outage(const Error& error) {
    if (globals_.verbose) warn(std::string("still waiting: ") + error.what());
  }

  // Reports servers of a quorum that take no part, each once.
  void tell_absentees() {
    for (const std::string& text : globals_.news_of_absentees()) {
      status_line_.clear();
      say(text);
    }
  }

  void tell_wait(const lock::Lock& lock, const lock::Busy& busy) {
    tell_still_waiting(busy);
    warn_of_lasting(busy);
    warn_of_mix(lock);
    tell_absentees();
    if (!status_line_.is_due()) return;
    status_line_.show(escape_for_terminal(request_.wish.name) + ": " +
                      describe_wait(busy, status_line_.waited(), request_.deadline));
  }

  // Returns whether the holder's process has ended, as far as this machine can see. Then ask the
  // server once more, because the process may have released the lock meanwhile.
  [[nodiscard]] bool doubts(const lock::Busy& busy) {
    if (globals_.quiet || is_running(busy.holder.pid, busy.holder.process) != false) return false;
    dead_ = busy.holder.process;
    return true;
  }

  void tell_refusal(const lock::Lock& lock, const lock::Busy& busy) {
    warn_of_lasting(busy);
    const bool is_told = static_cast<int>(request_.conflict) != 0 || globals_.verbose;
    const bool is_dead = !dead_.empty() && busy.holder.process == dead_;
    if (is_dead) warn((is_told ? "not acquired: " : "") + describe_dead(busy) + remedy());
    if (!is_told) return;
    warn_of_mix(lock);
    if (!is_dead && BootClock::now() >= request_.deadline) warn(describe_refusal(busy));
  }

  void tell_grant(const lock::Lock& lock) {
    warn_of_mix(lock);
    if (!begin_) return;
    const auto waited = std::chrono::floor<Milliseconds>(BootClock::now() - *begin_);
    warn("acquired after " + format_duration(waited));
  }

 private:
  void warn(const std::string& text) {
    if (globals_.quiet) return;
    status_line_.clear();
    say(escape_for_terminal(request_.wish.name) + ": " + text);
  }

  // There may be no terminal.
  void tell_still_waiting(const lock::Busy& busy) {
    const TimePoint now = BootClock::now();
    if (!globals_.verbose || now < next_) return;
    if (!begin_) begin_ = now;
    warn(describe_wait(busy, std::chrono::floor<Milliseconds>(now - *begin_), request_.deadline));
    next_ = after(now, k_interval);
  }

  // A semaphore's permit that another client has taken has no expiry as a rule.
  void warn_of_lasting(const lock::Busy& busy) {
    if (busy.ttl || busy.permits || warned_of_lasting_) return;
    warn(std::string(busy.is_any_string ? k_if_lock : "") + "held without an expiry by " +
         describe_holder(busy.owner, busy.holder) +
         ": it will not end by itself; if its holder is gone: " + remedy());
    warned_of_lasting_ = true;
  }

  void warn_of_mix(const lock::Lock& lock) {
    if (!warned_of_mix_ && lock.is_mixed()) {
      warn("used as a plain and as a fair lock: it still excludes, but not in order");
      warned_of_mix_ = true;
    }
    if (!warned_of_twin_ && lock.has_twin()) {
      warn("'" + escape_for_terminal(lock::twin_of(request_.wish.name).value_or("")) +
           "' is in use, too: both names have one queue and one token counter. Each lock still "
           "excludes, but its waiters may wait longer; choose another name");
      warned_of_twin_ = true;
    }
  }

  [[nodiscard]] std::string remedy() const {
    const std::string kind = request_.wish.kind == lock::Kind::simple ? "--kind simple " : "";
    return rlock_for_all("unlock --force " + kind + shell_operands({request_.wish.name}), globals_);
  }

  const Request& request_;
  const Globals& globals_;
  TransientLine status_line_;       // on a terminal: what the wait is for
  std::optional<TimePoint> begin_;  // of the wait, if -v reports it
  TimePoint next_ = TimePoint::min();
  std::string dead_;  // identity of a holder's process that has ended
  bool warned_of_lasting_ = false;
  bool warned_of_mix_ = false;
  bool warned_of_twin_ = false;
};

// Re-enters the lock if a process above this one holds it. RLOCK_HELD is only a hint: the server
// decides. A shell that has given back all holds of its entry does not hold the lock any more, even
// if a process below it still holds the lock as the same owner.
std::optional<HeldLock> reenter(const Request& request, lock::Session& session,
                                const std::function<void(const Error&)>& on_outage) {
  const auto held = from_environment(lock::k_held_variable);
  const auto entry = lock::find_held(held.value_or(""), request.wish.name);
  if (!entry) return std::nullopt;
  lock::Wish wish = request.wish;
  wish.owner = entry->owner;
  auto lock = lock::make_lock(wish, session);
  lock::Outage outage(request.deadline, on_outage);
  try {
    while (true) {
      try {
        if (living_runs(wish.name, *entry, session).empty()) return std::nullopt;
        auto hold = lock->reenter(session);
        if (!hold) return std::nullopt;
        return HeldLock{std::move(lock), std::move(*hold)};
      } catch (const Error& error) {
        if (!request.server_was_there) throw;
        outage.bear(error, session.wake_fd());
      }
    }
  } catch (...) {
    lock->abandon(session);
    throw;
  }
}

}  // namespace

Request make_request(const TakeOptions& options, const lock::About& about) {
  const lock::Wish wish{"",
                        options.owner(),
                        options.tell(about),
                        options.terms(),
                        options.lock_kind(),
                        options.fair_wait_length(),
                        options.value(),
                        options.permit_count()};
  return {wish, options.wait_deadline(), options.conflict_exit_status()};
}

std::optional<HeldLock> take(const Request& request, const Globals& globals,
                             lock::Session& session) {
  WaitReport report(request, globals);
  const auto on_outage = [&](const Error& error) { report.tell_outage(error); };
  if (auto held = reenter(request, session, on_outage)) {
    report.tell_absentees();
    return held;
  }
  auto lock = lock::make_lock(request.wish, session);
  lock::WaitOptions options{request.deadline, request.patience, request.server_was_there};
  options.on_wait = [&](const lock::Busy& busy) {
    request.on_busy();
    report.tell_wait(*lock, busy);
  };
  options.doubts = [&](const lock::Busy& busy) { return report.doubts(busy); };
  options.on_refusal = [&](const lock::Busy& busy) { report.tell_refusal(*lock, busy); };
  options.on_outage = on_outage;
  auto hold = lock::wait_for_lock(*lock, session, options);
  report.tell_absentees();
  if (!hold) return std::nullopt;
  report.tell_grant(*lock);
  return HeldLock{std::move(lock), std::move(*hold)};
}

lock::SessionOptions servers_for(const Globals& globals, const TakeOptions& options,
                                 lock::Terms& terms, Milliseconds at_least) {
  lock::SessionOptions servers = globals.session_options();
  options.fit_to_servers(servers, terms, at_least);
  if (options.no_info) servers.client.name = "rlock";
  const std::size_t count = servers.servers.size();
  if (!globals.quiet && count >= 2 && count % 2 == 0) {
    say("--redis: " + std::to_string(count) + " servers bear " +
        (count == 2 ? "no failure" : "no more failures than " + std::to_string(count - 1)) +
        ": use an odd number (3 bear one, 5 bear two)");
  }
  return servers;
}

std::optional<process::Signal> signal_to_end(process::Signals& signals) {
  while (const auto signal = signals.next()) {
    if (process::ends_process(signal->number) && !signal->from_self) return signal;
  }
  return std::nullopt;
}

int end_by_signal(const process::Signal& signal) {
  if (signal.from_terminal && signal.number == SIGINT) {
    ::signal(SIGINT, SIG_DFL);
    ::raise(SIGINT);
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGINT);
    ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  }
  return static_cast<int>(ExitStatus::signal_base) + signal.number;
}

}  // namespace rlock::cli
