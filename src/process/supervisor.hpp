// Runs the command. Forwards signals to it, and notices when it stops or ends. When it may not go
// on, ends it and everything that it has started.
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
  // `afterwards`: the command had ended by itself, and rlock then ended what killed inner runs
  // left.
  enum class Ended { by_itself, by_loss, by_time, afterwards };

  // None of the functions may block, because no signal is forwarded meanwhile.
  struct Options {
    int lost_fd = -1;  // readable: the lock is lost
    // Returns the moment at which the lock is lost, unless a renewal moves it.
    std::function<TimePoint()> loss_time = [] { return TimePoint::max(); };
    OnLost on_lost = OnLost::term;
    Milliseconds grace{};                     // from SIGTERM to SIGKILL
    TimePoint time_limit = TimePoint::max();  // end the command then
    TimePoint late_start = TimePoint::max();  // call `start_late` then, if the command still runs
    std::function<bool()> start_late;         // false: call it again in a moment
    // Called after a stop of the job. Asks the server whether the lock is still held, if possible.
    std::function<void()> ask;
    int answer_fd = -1;  // readable: the lock is still held
    // Each is called once: when the lock is lost, when the time limit has come, and with the number
    // of a process that rlock is not allowed to signal.
    std::function<void()> on_loss = [] {};
    std::function<void()> on_time_limit = [] {};
    std::function<void(pid_t)> on_unkillable = [](pid_t) {};
  };

  struct Result {
    int wait_status = 0;  // of the command, as waitpid() returns it
    Ended ended = Ended::by_itself;
    bool lost = false;          // lost_fd became readable, or the loss time came
    bool is_unsure = false;     // processes may be left that rely on the lock
    bool typed_ctrl_c = false;  // SIGINT from the terminal, not from rlock, ended the command
  };

  // `guardian` must be armed. Both must outlive this object.
  Supervisor(Signals& signals, Guardian& guardian, Options options);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor();

  // Starts `command`. Throws as start_child.
  void start(const Command& command);
  // Returns when the command has ended, and also the guardians of inner runs that were killed. If
  // the supervisor ended the command, returns when all its processes have ended. Reaps every other
  // child of this process. Replaces a guardian that is not well.
  // Once the command has ended or was to be killed, a signal that asks rlock to end bounds the wait
  // for the rest: by the grace, and 1 s at least. So does the lack of what a search needs, by 10 s.
  [[nodiscard]] Result run();

  // Kills the command's processes. Returns whether certainly none is left, with the same bounds as
  // `run`. Call it if `run` cannot be called, has thrown, or has left processes.
  bool kill_command();

 private:
  // Returns whether the supervisor is ending the command.
  [[nodiscard]] bool is_ending() const { return result_.ended != Ended::by_itself; }
  [[nodiscard]] bool is_over();
  void wait();
  void forward(const Signal& signal);
  void reap();
  void on_stopped(int signal);
  void suspend(bool had_terminal);
  void go_on();
  void lose();
  void end(Ended why);
  void end_step();
  void report_unkillable(pid_t pid);
  void start_late();
  void keep_guardian();
  void note_stall(bool stalls);
  // Returns how long, after a signal that asks rlock to end, the rest is waited for.
  [[nodiscard]] Milliseconds end_bound() const;
  [[nodiscard]] bool gives_up() const;
  [[nodiscard]] TimePoint next_alarm() const;

  // The job was stopped and continued. The command goes on when the lock is known to be held.
  struct Resumption {
    bool had_terminal;
    TimePoint deadline;
  };

  Signals& signals_;
  Guardian& guardian_;
  Options options_;
  Terminal terminal_;
  Alarm alarm_;
  CommandProcesses tree_;
  pid_t child_ = 0;
  std::optional<int> wait_status_;
  std::optional<Resumption> resumption_;
  Result result_;
  bool forwarded_interrupt_ = false;
  bool nothing_left_ = false;
  bool has_reported_unkillable_ = false;
  bool is_asked_to_end_ = false;  // by a signal
  TimePoint kill_at_ = TimePoint::max();
  TimePoint signal_end_ = TimePoint::max();  // of the wait for the rest, after a signal
  TimePoint stall_end_ = TimePoint::max();   // of the wait for the rest, while nothing can be done
  Milliseconds pause_;                       // between two searches for processes that are left
};

}  // namespace rlock::process
