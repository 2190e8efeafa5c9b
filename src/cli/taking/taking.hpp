// Taking locks, as exec and acquire do it: re-entry, waiting, and what a person sees meanwhile.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "cli/settings/globals.hpp"
#include "lock/make_lock.hpp"
#include "process/signals.hpp"

namespace rlock::cli {

// A lock that this run holds.
struct Taken {
  std::unique_ptr<lock::Lock> lock;
  lock::Lease lease;
  bool is_reentered = false;  // a process above us holds it, too
};

struct Request {
  lock::Wish wish;  // its owner: of a run that holds nothing of this name yet
  TimePoint deadline;
  // The exit status of a run that is refused. Who says that 0 is fine is told of it only with -v.
  ExitStatus conflict = ExitStatus::not_acquired;
  // Called when there is a wait, before it: what can be prepared then need not be done after it.
  std::function<void()> on_busy = [] {};
  TimePoint patience = TimePoint::max();  // as in lock::WaitOptions; a refusal then is not told
  bool server_was_there = false;          // as in lock::WaitOptions
};

// Takes one lock. Returns nothing if it was not free in time, and says who has it: see `conflict`.
// Throws as lock::wait_for_lock.
[[nodiscard]] std::optional<Taken> take(const Request& request, const Globals& globals,
                                        lock::Session& session);

// Warns of a number of servers that bears no more failures than one server less would.
void warn_of_even_number(const lock::SessionOptions& servers, const Globals& globals);

// Returns a signal that asks this process to end, if one has come.
[[nodiscard]] std::optional<process::Signal> signal_to_end(process::Signals& signals);

// Returns the exit status for a process that `signal` asked to end. Ctrl-C at a terminal ends this
// process by that signal itself, so that a shell's loop around it ends, too.
[[nodiscard]] int end_by_signal(const process::Signal& signal);

}  // namespace rlock::cli
