// Takes locks for exec and acquire: re-entry, waiting, and messages during the wait.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "cli/settings/globals.hpp"
#include "cli/settings/take_options.hpp"
#include "lock/make_lock.hpp"
#include "process/signals.hpp"

namespace rlock::cli {

// A lock that this run holds.
struct HeldLock {
  std::unique_ptr<lock::Lock> lock;
  lock::Hold hold;
};

struct Request {
  lock::Wish wish;  // its owner is used if no process above this one holds the lock
  TimePoint deadline;
  // The exit status if the lock was not acquired. With 0, that is reported only with -v.
  ExitStatus conflict = ExitStatus::not_acquired;
  // Called when there is a wait, for a holder or for the server. Prepare here what need not be done
  // after it.
  std::function<void()> on_wait = [] {};
  TimePoint try_end = TimePoint::max();     // as in lock::WaitOptions. Its end is not reported
  TimePoint outage_end = TimePoint::max();  // as in lock::WaitOptions
  bool server_was_there = false;            // as in lock::WaitOptions
  Milliseconds server_wait{0};              // see wait_for_server
};

// Returns the request that the options make, without the lock's name. Throws Error (usage).
[[nodiscard]] Request make_request(const TakeOptions& options, const lock::About& about);

// Takes one lock. Returns nothing if it was not free in time. A message then names its holder, see
// `conflict`. Sets `server_was_there` when the server has answered. Throws as lock::wait_for_lock.
[[nodiscard]] std::optional<HeldLock> take(Request& request, const Globals& globals,
                                           lock::Session& session);

// Calls `ask`, which asks the server. Until the server has answered, a temporary failure is not
// thrown, but told once, unless -q. Then `renew_owner` and `ask` are called again for up to
// `server_wait`. `renew_owner` must set another owner: a late release of a failed attempt frees the
// locks of the owner before. The wait for the server does not count as a wait for the lock: it
// moves the request's deadline. Throws as `ask`, and redis::Interrupted.
void wait_for_server(Request& request, const Globals& globals, lock::Session& session,
                     const std::function<void()>& renew_owner, const std::function<void()>& ask);

// Returns how to reach the servers that are to keep a lock on these `terms`, and fits the terms to
// them, see TakeOptions::fit_to_servers. Warns of an even number of servers, which survives no more
// failures than one server less. Throws as Globals::session_options.
[[nodiscard]] lock::SessionOptions servers_for(const Globals& globals, const TakeOptions& options,
                                               lock::Terms& terms, Milliseconds at_least = {});

// Returns a signal that has asked this process to end, or nothing.
[[nodiscard]] std::optional<process::Signal> signal_to_end(process::Signals& signals);

// Returns the result of an Action for a process that `signal` asked to end. After Ctrl-C at a
// terminal, the process ends by SIGINT itself, so that a loop of the shell also ends.
[[nodiscard]] int end_by_signal(const process::Signal& signal);

}  // namespace rlock::cli
