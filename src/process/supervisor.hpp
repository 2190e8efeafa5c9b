// Runs the command: forwards signals, follows its stops and its end, and ends it, with everything
// that it has started, when it may not go on.
#pragma once

#include <functional>
#include <optional>

#include "process/child.hpp"
#include "process/descendants.hpp"
#include "process/signals.hpp"
#include "process/terminal.hpp"

namespace rlock::process {

class Supervisor {
 public:
  enum class OnLost { term, kill, ignore };
  enum class Ended { by_itself, by_loss, by_time };

  struct Options {
    int lost_fd = -1;                        // readable: the lock cannot be counted on any longer
    TimePoint loss_time = TimePoint::max();  // or this: the end of a lease that nobody renews
    OnLost on_lost = OnLost::term;
    Milliseconds grace{};                      // from SIGTERM to SIGKILL
    std::function<TimePoint()> kill_deadline;  // SIGKILL is sent then at the latest
    TimePoint time_limit = TimePoint::max();   // end the command then
    TimePoint late_start = TimePoint::max();   // call `start_late` then, if the command still runs
    std::function<void()> start_late;
    std::function<bool()> may_resume;  // after a stop of the job: may the command go on?
    std::string marker;                // see Tree
    pid_t guardian = 0;
  };

  struct Result {
    int wait_status = 0;  // of the command, as waitpid() gives it
    Ended ended = Ended::by_itself;
    bool lost = false;          // lost_fd became readable, or may_resume said no
    bool typed_ctrl_c = false;  // SIGINT from the terminal ended the command, not us
  };

  Supervisor(Signals& signals, Options options);

  // Starts `command`; returns its pid. Throws as start_child.
  pid_t start(const Command& command);
  // Returns when the command has ended; where it was ended for loss or time, when all its
  // processes have. Reaps every child of this process but the guardian.
  [[nodiscard]] Result run();

  // Kills the command's processes: for when `run` cannot be called, or has thrown.
  void kill_command() const { kill_now(tree_); }

 private:
  void handle_signals();
  void forward(const Signal& signal);
  void reap();
  void on_stopped(int signal);
  void suspend(bool had_terminal);
  void resume(bool had_terminal);
  void lose();
  void end(Ended why);
  void end_step();
  [[nodiscard]] TimePoint next_alarm() const;

  Signals& signals_;
  Options options_;
  Terminal terminal_;
  Alarm alarm_;
  Tree tree_;
  pid_t child_ = 0;
  std::optional<int> wait_status_;
  Result result_;
  bool ending_ = false;
  bool watch_loss_ = true;
  bool nothing_left_ = false;
  TimePoint kill_at_ = TimePoint::max();
};

}  // namespace rlock::process
