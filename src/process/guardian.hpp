// A small process that outlives rlock when rlock is killed, and then ends the command in its stead.
#pragma once

#include <atomic>
#include <string>
#include <sys/types.h>

#include "base/clock.hpp"
#include "base/fd.hpp"

namespace rlock::process {

// The guardian sits in a session of its own, so that what kills rlock's process group does not kill
// it. When rlock dies it sends SIGTERM to the command's processes, and SIGKILL after the grace or
// at the time that rlock has set, whichever comes first. When rlock is alive but has not moved that
// time when it comes (it was stopped, say), SIGKILL is sent, too.
class Guardian {
 public:
  // Forks: call it while the process has one thread. `marker` is in the environment of the
  // command's processes and of no others. Throws Error if there is no process to be had.
  Guardian(const std::string& marker, Milliseconds grace);
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;
  ~Guardian();

  // Sets the time of SIGKILL; there is none at first. Thread-safe.
  void set_kill_time(TimePoint when) noexcept;
  // Has that time count also while rlock lives. To be called before the command starts, and not
  // sooner: what has killed nobody at its time has gone all the same.
  void arm() noexcept;
  // Tells the command's process group.
  void set_group(pid_t group) noexcept;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  // Ends the guardian, without waiting for that: the destructor does. Idempotent.
  void dismiss() noexcept;

 private:
  struct Shared;

  Shared* shared_ = nullptr;  // memory that both processes see
  Alarm alarm_;               // both processes' too: setting it here moves the guardian's
  std::atomic<bool> is_armed_ = false;
  Fd life_line_;  // closed by the kernel when rlock dies
  pid_t pid_ = -1;
  bool is_dismissed_ = false;
};

}  // namespace rlock::process
