// A small process that outlives rlock when rlock is killed, and then ends the command in its stead.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "process/descendants.hpp"

namespace rlock::process {

// What a guardian calls itself; another name than rlock: see rename_process.
inline constexpr const char* k_guardian_name = "lock-guardian";

// The guardian sits in a session of its own, so that what kills rlock's process group does not kill
// it. When rlock dies it sends SIGTERM to the command's processes, and SIGKILL after the grace or
// at the kill time, whichever comes first. When rlock is alive but has not moved the kill time when
// it comes (it was stopped, say), SIGKILL is sent, too.
class Guardian {
 public:
  // Forks. `marker` is in the environment of the
  // command's processes and of no others; `strangers` are children that are none of them. Throws
  // Error (unavailable) if there is no process to be had.
  Guardian(std::string marker, Milliseconds grace, std::vector<Identity> strangers);
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;
  ~Guardian();

  // Sets when all is to be dead that belongs to the command; never, at first. Thread-safe.
  void set_kill_time(TimePoint when) noexcept;
  // Returns when SIGKILL is due: earlier than was set by the time that it takes to find the
  // command's processes on this machine. Thread-safe.
  [[nodiscard]] TimePoint kill_time() const noexcept;
  // Returns that time. It is measured again and again, and 0 before the first time. Thread-safe.
  [[nodiscard]] Milliseconds search_margin() const noexcept;

  // Has the kill time count also while rlock lives. To be called before the command starts, and not
  // sooner: what has killed nobody at its time has gone all the same. A guardian that somebody has
  // killed is replaced. Throws as the constructor.
  void arm();

  // To be called in the command's process, before it runs another program: makes its process group
  // known, and waits until the guardian cannot be killed together with rlock's group any more.
  // Returns whether the command may go on: false once SIGKILL is due, which may have been sent
  // before the group was known. Calls nothing that changes memory of this process.
  [[nodiscard]] bool admit() const noexcept;

  // Returns whether the guardian has sent SIGKILL because the kill time had come.
  [[nodiscard]] bool has_struck() const noexcept;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] const std::string& marker() const noexcept { return marker_; }
  [[nodiscard]] const std::vector<Identity>& strangers() const noexcept { return strangers_; }

  // Ends the guardian, without waiting for that: the destructor does. Idempotent.
  void dismiss() noexcept;

 private:
  struct Shared;

  void start();
  [[noreturn]] void watch(const Fd& life_line, pid_t guarded, pid_t session) noexcept;
  [[nodiscard]] bool wait_for_end(const Fd& life_line, Tree& tree) noexcept;
  void end_gently(Tree& tree) noexcept;

  std::string marker_;
  Milliseconds grace_;
  std::vector<Identity> strangers_;
  Shared* shared_ = nullptr;  // memory that both processes see
  Alarm alarm_;               // both processes' too: setting it here moves the guardian's
  Fd life_line_;              // closed by the kernel when rlock dies
  pid_t pid_ = -1;
  bool is_dismissed_ = false;
};

}  // namespace rlock::process
