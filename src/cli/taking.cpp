#include "cli/taking.hpp"

#include <cstdlib>
#include <signal.h>

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "cli/message.hpp"
#include "cli/status_line.hpp"
#include "lock/fair.hpp"
#include "lock/held.hpp"
#include "lock/waiting.hpp"

namespace rlock::cli {
namespace {

std::unique_ptr<lock::ReentrantLock> make_lock(const Request& request, const std::string& owner) {
  if (request.kind == lock::Kind::fair) {
    return std::make_unique<lock::FairLock>(request.name, owner, request.about, request.lease,
                                            request.fair_wait);
  }
  return std::make_unique<lock::ReentrantLock>(request.name, owner, request.about, request.lease);
}

// Re-enters the lock if a process above us holds it. What RLOCK_HELD says is only a hint: the
// server knows.
std::optional<Taken> reenter(const Request& request, redis::Client& client) {
  const char* held = std::getenv(lock::k_held_variable);
  const auto entry = lock::find_held(held == nullptr ? "" : held, request.name);
  if (!entry) return std::nullopt;
  auto lock = make_lock(request, entry->owner);
  try {
    const auto lease = lock->reenter(client);
    if (!lease) return std::nullopt;
    return Taken{std::move(lock), *lease};
  } catch (...) {
    lock->abandon(client);
    throw;
  }
}

// Returns why the lock was not acquired.
std::string describe_refusal(const lock::Busy& busy) {
  if (busy.is_free()) return "not acquired: others are first";
  std::string text = "not acquired: held by " + describe_holder(busy.owner, busy.holder);
  if (busy.held_for && busy.held_for->count() >= 0) {
    text += " for " + format_duration(*busy.held_for);
  }
  return text;
}

}  // namespace

std::optional<Taken> take(const Request& request, const Globals& globals, redis::Client& client) {
  if (auto taken = reenter(request, client)) return taken;

  auto lock = make_lock(request, request.owner);
  const std::string name = escape_for_terminal(request.name);
  StatusLine status_line(request.name,
                         globals.quiet ? StatusLine::Show::never : StatusLine::Show::on_terminal);
  const auto warn = [&](const std::string& text) {
    if (globals.quiet) return;
    status_line.clear();
    say(name + ": " + text);
  };
  bool warned = false;
  bool warned_of_mix = false;
  const auto warn_of_mix = [&] {
    if (!warned_of_mix && lock->is_mixed()) {
      warn("used as a plain and as a fair lock: it still excludes, but not in order");
      warned_of_mix = true;
    }
  };
  lock::WaitOptions options{request.deadline};
  options.on_wait = [&](const lock::Busy& busy) {
    request.on_busy();
    if (!busy.ttl && !warned) {
      warn("held without an expiry by " + describe_holder(busy.owner, busy.holder) +
           ": it will not end by itself (rlock unlock --force)");
      warned = true;
    }
    warn_of_mix();
    status_line.update(busy);
  };
  options.on_refusal = [&](const lock::Busy& busy) {
    warn_of_mix();
    warn(describe_refusal(busy));
  };
  options.on_outage = [&](const Error& error) {
    if (!globals.verbose) return;
    status_line.clear();
    say(name + ": still waiting: " + error.what());
  };
  const auto lease = lock::wait_for_lock(*lock, client, options);
  warn_of_mix();
  if (!lease) return std::nullopt;
  return Taken{std::move(lock), *lease};
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
