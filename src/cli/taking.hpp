// Taking locks, as exec and acquire do it: re-entry, waiting, and what a person sees meanwhile.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "cli/globals.hpp"
#include "lock/reentrant.hpp"
#include "process/signals.hpp"
#include "redis/client.hpp"

namespace rlock::cli {

// A lock that this run holds.
struct Taken {
  std::unique_ptr<lock::ReentrantLock> lock;
  lock::Lease lease;
};

struct Request {
  std::string name;
  std::string owner;  // of a run that holds nothing of this name yet
  lock::About about;
  Milliseconds lease{};
  TimePoint deadline;
  lock::Kind kind = lock::Kind::reentrant;
  Milliseconds fair_wait{};  // of a fair lock
  // Called when there is a wait, before it: what can be prepared then need not be done after it.
  std::function<void()> on_busy = [] {};
};

// Takes one lock. Returns nothing if it was not free in time, and says who has it. Throws as
// lock::wait_for_lock.
[[nodiscard]] std::optional<Taken> take(const Request& request, const Globals& globals,
                                        redis::Client& client);

// Returns a signal that asks this process to end, if one has come.
[[nodiscard]] std::optional<process::Signal> signal_to_end(process::Signals& signals);

// Returns the exit status for a process that `signal` asked to end. Ctrl-C at a terminal ends this
// process by that signal itself, so that a shell's loop around it ends, too.
[[nodiscard]] int end_by_signal(const process::Signal& signal);

}  // namespace rlock::cli
