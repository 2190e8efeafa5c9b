// Runs the command: forwards signals, follows its stops and its end, and ends it, with everything
// that it has started, when it may not go on.
#pragma once

#include <functional>
#include <optional>

#include "process/child.hpp"
#include "process/descendants.hpp"
#include "process/guardian.hpp"
#include "process/signals.hpp"
#include "process/terminal.hpp"

namespace rlock::process {

class Supervisor {
 public:
  enum class OnLost { term, kill, ignore };
  enum class Ended { by_itself, by_loss, by_time };

  // None of the functions may block: signals are not forwarded meanwhile.
  struct Options {
    int lost_fd = -1;  // readable: the lock cannot be counted on any longer
    // Returns when it cannot be counted on any longer if nobody moves that time.
    std::function<TimePoint()> loss_time = [] { return TimePoint::max(); };
    OnLost on_lost = OnLost::term;
    Milliseconds grace{};                     // from SIGTERM to SIGKILL
    TimePoint time_limit = TimePoint::max();  // end the command then
    TimePoint late_start = TimePoint::max();  // call `start_late` then, if the command still runs
    std::function<bool()> start_late;         // false: it is to be called again in a moment
    // After a stop of the job: has the lock asked for, if that can be done.
    std::function<void()> ask;
    int answer_fd = -1;           // readable: it is still ours
    Milliseconds answer_bound{};  // without an answer for so long, the command goes on
    // Called once each: when the lock is lost; when the time limit has come; with the number of a
    // process that is to be killed, or told something, and cannot be.
    std::function<void()> on_loss = [] {};
    std::function<void()> on_time_limit = [] {};
    std::function<void(pid_t)> on_immune = [](pid_t) {};
  };

  struct Result {
    int wait_status = 0;  // of the command, as waitpid() gives it
    Ended ended = Ended::by_itself;
    bool lost = false;          // lost_fd became readable, or the loss time came
    bool typed_ctrl_c = false;  // SIGINT from the terminal ended the command, not us
  };

  // `guardian` must be armed. Both must outlive this object.
  Supervisor(Signals& signals, Guardian& guardian, Options options);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor();

  // Starts `command`. Throws as start_child.
  void start(const Command& command);
  // Returns when the command has ended, and with it the guardians of inner runs that were killed;
  // where it was ended for loss or time, when all its processes have. Reaps every other child of
  // this process but the guardian.
  [[nodiscard]] Result run();

  // Kills the command's processes, and returns when none is left: for when `run` cannot be called,
  // has thrown, or has left some.
  void kill_command();

 private:
  [[nodiscard]] bool is_over();
  void wait();
  void handle_signals();
  void forward(const Signal& signal);
  void reap();
  void on_stopped(int signal);
  void suspend(bool had_terminal);
  void go_on();
  void lose();
  void end(Ended why);
  void end_step();
  void tell_immune(pid_t pid);
  void start_late();
  void replace_guardian();
  [[nodiscard]] TimePoint next_alarm() const;

  // The job was stopped and continued: the command goes on once its lock is known to be ours.
  struct Resumption {
    bool had_terminal;
    TimePoint deadline;
  };

  Signals& signals_;
  Guardian& guardian_;
  Options options_;
  Terminal terminal_;
  Alarm alarm_;
  Tree tree_;
  pid_t child_ = 0;
  std::optional<int> wait_status_;
  std::optional<Resumption> resumption_;
  Result result_;
  bool ending_ = false;
  bool watch_loss_ = true;
  bool nothing_left_ = false;
  bool told_immune_ = false;
  TimePoint kill_at_ = TimePoint::max();
  Milliseconds pause_;  // between two looks at what is left
};

}  // namespace rlock::process
