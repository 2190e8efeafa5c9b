// A small process that ends the command if rlock is killed.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "process/descendants.hpp"

namespace rlock::process {

// The name of the process. rename_process explains why it is not "rlock".
inline constexpr const char* k_guardian_name = "lock-guardian";

// The guardian has a session of its own, so that a signal to rlock's process group does not kill
// it. When rlock dies, it sends SIGTERM to the command's processes, and SIGKILL after the grace or
// at the kill time, whichever comes first. It also sends SIGKILL if rlock lives but has not moved
// the kill time before it comes, for example because rlock was stopped.
class Guardian {
 public:
  // Forks. `marker` is in the environment of the command's processes and of no others. `grace` is
  // the time from SIGTERM to SIGKILL. `answer_bound` is the time that the guardian has for an
  // answer, 5 s at most. `preexisting_children` are children of rlock that do not belong to the
  // command. Throws Error (unavailable) if no process can be started.
  Guardian(std::string marker, Milliseconds grace, Milliseconds answer_bound,
           std::vector<Identity> preexisting_children);
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;
  // Kills the guardian, and waits until it has ended.
  ~Guardian();

  // Sets the moment at which all processes of the command must be dead. At first it is never.
  // Thread-safe.
  void set_kill_time(TimePoint when) noexcept;
  // Returns when SIGKILL is due: that moment less search_margin(). Thread-safe.
  [[nodiscard]] TimePoint kill_time() const noexcept;
  // Returns the time that is needed to find the command's processes on this machine. It is measured
  // again and again, and is 0 before the first measurement. Thread-safe.
  [[nodiscard]] Milliseconds search_margin() const noexcept;

  // Sets the moment from which on `register_command` refuses, even if the kill time comes later. At
  // first it is never.
  void set_start_limit(TimePoint when) noexcept { start_limit_ = when; }

  // From now on the kill time also counts while rlock lives, and the guardian looks for the
  // command's processes. Call it right before the command starts: if the kill time came earlier,
  // the guardian would end with nothing to kill. Replaces a guardian that is dead or stopped, or
  // does not answer in time, or within 1 s. Throws as the constructor.
  void arm();

  // Returns false if the guardian is dead or stopped, or has not answered in time. Nobody would end
  // the command then if rlock was killed.
  [[nodiscard]] bool is_well() const noexcept;
  // Asks the guardian to answer, unless it still has to. Call both once in each `answer_bound()`
  // while the command runs. Thread-safe.
  void ask() noexcept;
  [[nodiscard]] Milliseconds answer_bound() const noexcept { return answer_bound_; }
  // Starts another guardian and kills this one. Throws as the constructor. Then there is no
  // guardian, and `is_well` returns false.
  void replace();

  // Call it in the command's process, before it runs another program. Tells the guardian its
  // process group, and waits until the guardian is in a session of its own. Returns `too_late` when
  // SIGKILL is due, because it may have been sent before the guardian knew the group, and after the
  // start limit. Returns `no_guardian` if the guardian is dead, or does not answer within 5 s.
  // Changes no memory of this process.
  enum class Admission { admitted, too_late, no_guardian };
  [[nodiscard]] Admission register_command() const noexcept;

  // Returns whether the guardian has sent SIGKILL because of the kill time.
  [[nodiscard]] bool has_killed() const noexcept;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] const std::string& marker() const noexcept { return tree_.marker; }
  // Returns what is known of the command's processes before it starts.
  [[nodiscard]] const CommandProcesses& tree() const noexcept { return tree_; }

  // Kills the guardian, and does not wait until it has ended. Idempotent.
  void disarm() noexcept;
  // Lets the guardian live. It ends what is left of the command when rlock has ended.
  void leave() noexcept { is_dismissed_ = true; }

 private:
  struct Shared;

  void start();
  [[nodiscard]] bool has_answered() const noexcept;
  [[nodiscard]] bool is_standing() const noexcept;
  [[noreturn]] void watch(const Fd& liveness_pipe, const std::string& title) noexcept;
  [[nodiscard]] bool wait_for_end(const Fd& liveness_pipe) noexcept;
  void end_gently() noexcept;

  CommandProcesses tree_;  // the guardian's own grows as it searches
  Milliseconds grace_;
  Milliseconds answer_bound_;
  std::unique_ptr<Shared, void (*)(Shared*)> shared_{nullptr, nullptr};  // memory of both processes
  Alarm alarm_;           // of both processes: a change here also moves the guardian's alarm
  Fd liveness_pipe_;      // the kernel closes it when rlock dies
  TimePoint first_look_;  // when the guardian first looks whether the command runs
  TimePoint start_limit_ = TimePoint::max();
  std::atomic<TimePoint> asked_;  // when the guardian was asked what it has to answer
  pid_t pid_ = -1;
  bool is_dismissed_ = false;
  bool is_killed_ = false;  // to be reaped
};

}  // namespace rlock::process
