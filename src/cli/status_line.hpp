// The line that tells a person at a terminal what a wait is for.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "cli/transient_line.hpp"
#include "lock/lock.hpp"

namespace rlock::cli {

// Shows once the wait has lasted a second; gone when destroyed.
class StatusLine {
 public:
  using Show = TransientLine::Show;

  // `deadline`: when the wait is given up; TimePoint::max() if never.
  StatusLine(std::string name, Show show, TimePoint deadline)
      : name_(std::move(name)), line_(show), deadline_(deadline) {}

  void update(const lock::Busy& busy);
  void clear() noexcept { line_.clear(); }

 private:
  std::string name_;
  TransientLine line_;
  TimePoint deadline_;
};

// Returns what a wait is for, such as "waiting 3s (27s left) for web1 pid 4242 (backup)"; without
// the time left where `deadline` is TimePoint::max(). Harmless for a terminal.
[[nodiscard]] std::string describe_wait(const lock::Busy& busy, Milliseconds waited,
                                        TimePoint deadline);

// Returns who holds a lock, for people: `web1 pid 4242 (backup) "note"`, or the owner where no more
// is known. Harmless for a terminal.
[[nodiscard]] std::string describe_holder(const std::string& owner, const lock::About& about);

// Returns "kept until 2026-11-21T01:59:22.516Z after the run of web1 pid 4242 (backup) ended",
// where
// --at-least keeps the lock after its run; nothing where the run goes on. Harmless for a terminal.
[[nodiscard]] std::optional<std::string> describe_kept(const std::string& owner,
                                                       const lock::About& about);

// What stands before a statement on a string of which nothing tells that it is a lock.
inline constexpr const char* k_if_lock = "a string; if it is a lock, it is ";

// Returns the same as describe_kept, or "held by web1 pid 4242 (backup)".
[[nodiscard]] std::string describe_hold(const std::string& owner, const lock::About& about);

}  // namespace rlock::cli
