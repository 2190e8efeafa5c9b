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
#include "cli/output/status_line.hpp"
#include "cli/taking/own_hold.hpp"
#include "cli/terminal/message.hpp"
#include "lock/holding/waiting.hpp"
#include "lock/servers/outage.hpp"
#include "lock/words/held.hpp"
#include "lock/words/key_names.hpp"

namespace rlock::cli {
namespace {

// Re-enters the lock if a process above us holds it. What RLOCK_HELD says is only a hint: the
// server knows. A shell that has given back all that its entry tells of holds nothing any more,
// even where a process below it still holds the lock as the same owner.
std::optional<Taken> reenter(const Request& request, lock::Session& session,
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
        const auto lease = lock->reenter(session);
        if (!lease) return std::nullopt;
        return Taken{std::move(lock), *lease, true};
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

// Returns why the lock was not acquired.
std::string describe_refusal(const lock::Busy& busy) {
  if (busy.is_free()) return "not acquired: others are first";
  const int permits = busy.permits.value_or(1);
  std::string text = std::string("not acquired: ") + (busy.is_any_string ? k_if_lock : "");
  if (permits > 1) text += "all " + std::to_string(permits) + " permits are ";
  text += describe_hold(busy.owner, busy.holder);
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

// Tells of a long wait where there may be no terminal, with -v.
class Narrator {
 public:
  Narrator(bool is_verbose, TimePoint deadline, std::function<void(const std::string&)> tell)
      : is_verbose_(is_verbose), deadline_(deadline), tell_(std::move(tell)) {}

  void tell_wait(const lock::Busy& busy) {
    const TimePoint now = BootClock::now();
    if (!is_verbose_ || now < next_) return;
    if (!begin_) begin_ = now;
    tell_(describe_wait(busy, std::chrono::floor<Milliseconds>(now - *begin_), deadline_));
    next_ = after(now, k_interval);
  }
  void tell_end() const {
    if (!begin_) return;
    const auto waited = std::chrono::floor<Milliseconds>(BootClock::now() - *begin_);
    tell_("acquired after " + format_duration(waited));
  }

 private:
  static constexpr Milliseconds k_interval{60'000};
  bool is_verbose_;
  TimePoint deadline_;
  std::function<void(const std::string&)> tell_;
  std::optional<TimePoint> begin_;
  TimePoint next_ = TimePoint::min();
};

}  // namespace

std::optional<Taken> take(const Request& request, const Globals& globals, lock::Session& session) {
  const std::string name = escape_for_terminal(request.wish.name);
  StatusLine status_line(request.wish.name,
                         globals.quiet ? StatusLine::Show::never : StatusLine::Show::on_terminal,
                         request.deadline);
  const auto warn = [&](const std::string& text) {
    if (globals.quiet) return;
    status_line.clear();
    say(name + ": " + text);
  };
  const auto tell_outage = [&](const Error& error) {
    if (!globals.verbose) return;
    status_line.clear();
    say(name + ": still waiting: " + error.what());
  };
  const auto tell_absentees = [&] {
    for (const std::string& text : globals.news_of_absentees()) {
      status_line.clear();
      say(text);
    }
  };
  if (auto taken = reenter(request, session, tell_outage)) {
    tell_absentees();
    return taken;
  }

  auto lock = lock::make_lock(request.wish, session);
  bool warned_of_lasting = false;
  bool warned_of_mix = false;
  bool warned_of_twin = false;
  const auto warn_of_mix = [&] {
    if (!warned_of_mix && lock->is_mixed()) {
      warn("used as a plain and as a fair lock: it still excludes, but not in order");
      warned_of_mix = true;
    }
    if (!warned_of_twin && lock->has_twin()) {
      warn("'" + escape_for_terminal(lock::twin_of(request.wish.name).value_or("")) +
           "' is in use, too: both names have one queue and one token counter. Each lock still "
           "excludes, but its waiters may wait longer; choose another name");
      warned_of_twin = true;
    }
  };
  const auto remedy = [&] {
    const std::string kind = request.wish.kind == lock::Kind::simple ? "--kind simple " : "";
    return address_all("rlock unlock --force " + kind + shell_operands({request.wish.name}),
                       globals);
  };
  // A service's permit of a semaphore has no expiry as a rule.
  const auto warn_of_lasting = [&](const lock::Busy& busy) {
    if (busy.ttl || busy.permits || warned_of_lasting) return;
    warn(std::string(busy.is_any_string ? k_if_lock : "") + "held without an expiry by " +
         describe_holder(busy.owner, busy.holder) +
         ": it will not end by itself; if its holder is gone: " + remedy());
    warned_of_lasting = true;
  };
  Narrator narrator(globals.verbose, request.deadline, warn);
  lock::WaitOptions options{request.deadline, request.patience, request.server_was_there};
  options.on_wait = [&](const lock::Busy& busy) {
    request.on_busy();
    narrator.tell_wait(busy);
    warn_of_lasting(busy);
    warn_of_mix();
    tell_absentees();
    status_line.update(busy);
  };
  // The answer is older than the look at the process, which may have ended in order meanwhile.
  std::string dead;  // identity of the holder's process
  options.doubts = [&](const lock::Busy& busy) {
    if (globals.quiet || is_running(busy.holder.pid, busy.holder.process) != false) return false;
    dead = busy.holder.process;
    return true;
  };
  options.on_refusal = [&](const lock::Busy& busy) {
    warn_of_lasting(busy);
    const bool is_told = static_cast<int>(request.conflict) != 0 || globals.verbose;
    const bool is_dead = !dead.empty() && busy.holder.process == dead;
    if (is_dead) warn((is_told ? "not acquired: " : "") + describe_dead(busy) + remedy());
    if (!is_told) return;
    warn_of_mix();
    if (!is_dead && BootClock::now() >= request.deadline) warn(describe_refusal(busy));
  };
  options.on_outage = tell_outage;
  const auto lease = lock::wait_for_lock(*lock, session, options);
  tell_absentees();
  if (!lease) return std::nullopt;
  warn_of_mix();
  narrator.tell_end();
  return Taken{std::move(lock), *lease};
}

void warn_of_even_number(const lock::SessionOptions& servers, const Globals& globals) {
  const std::size_t count = servers.servers.size();
  if (globals.quiet || count < 2 || count % 2 == 1) return;
  say("--redis: " + std::to_string(count) + " servers bear " +
      (count == 2 ? "no failure" : "no more failures than " + std::to_string(count - 1)) +
      ": use an odd number (3 bear one, 5 bear two)");
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
