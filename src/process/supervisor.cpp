#include "process/supervisor.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"

namespace rlock::process {
namespace {

// While the command's processes are ending, those that are not our children end unnoticed.
constexpr Milliseconds k_look_again{20};

}  // namespace

Supervisor::Supervisor(Signals& signals, Options options)
    : signals_(signals), options_(std::move(options)) {
  // Descendants whose parents die become our children: none is out of reach.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

pid_t Supervisor::start(const Command& command) {
  const bool give = terminal_.is_for_command();
  child_ = start_child(command, signals_, terminal_, give ? GiveTerminal::yes : GiveTerminal::no);
  tree_ = Tree{::getpid(), options_.guardian, child_, options_.marker};
  return child_;
}

Supervisor::Result Supervisor::run() {
  while (!wait_status_ || (ending_ && !nothing_left_)) {
    alarm_.set(next_alarm());
    std::array<pollfd, 3> polled = {{{signals_.fd(), POLLIN, 0},
                                     {watch_loss_ ? options_.lost_fd : -1, POLLIN, 0},
                                     {alarm_.fd(), POLLIN, 0}}};
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) {
      throw Error(ExitStatus::internal, "poll: " + errno_text(errno));
    }
    if (polled[0].revents != 0) handle_signals();
    if (polled[1].revents != 0) lose();
    if (watch_loss_ && BootClock::now() >= options_.loss_time) lose();
    if (BootClock::now() >= options_.time_limit) end(Ended::by_time);
    if (BootClock::now() >= options_.late_start) {
      options_.late_start = TimePoint::max();
      options_.start_late();
    }
    if (ending_) end_step();
  }
  const bool had_terminal = terminal_.take_from(child_);
  const bool signaled = WIFSIGNALED(*wait_status_);
  if (had_terminal && signaled) terminal_.restore_modes();
  result_.typed_ctrl_c = had_terminal && !ending_ && signaled && WTERMSIG(*wait_status_) == SIGINT;
  result_.wait_status = *wait_status_;
  return result_;
}

TimePoint Supervisor::next_alarm() const {
  if (ending_) return after(BootClock::now(), k_look_again);
  const TimePoint next = std::min(options_.time_limit, options_.late_start);
  return watch_loss_ ? std::min(next, options_.loss_time) : next;
}

void Supervisor::lose() {
  watch_loss_ = false;
  result_.lost = true;
  if (options_.on_lost != OnLost::ignore) end(Ended::by_loss);
}

void Supervisor::handle_signals() {
  while (const auto signal = signals_.next()) {
    if (signal->number == SIGCHLD) {
      reap();
    } else if (!signal->from_self) {
      forward(*signal);
    }
  }
}

void Supervisor::forward(const Signal& signal) {
  if (wait_status_) return;
  if (signal.number != SIGCONT) {
    ::kill(-child_, signal.number);
  } else {
    resume(terminal_.is_for_command());
  }
}

void Supervisor::reap() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
    if (pid != child_) continue;
    if (WIFSTOPPED(status)) {
      on_stopped(WSTOPSIG(status));
    } else {
      wait_status_ = status;
    }
  }
}

void Supervisor::on_stopped(int signal) {
  if (!terminal_.exists() || ending_) return;  // nobody would ever continue us
  const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
  if (wants_terminal && terminal_.is_ours()) {
    terminal_.give_to(child_);
    ::kill(-child_, SIGCONT);
    return;
  }
  suspend(terminal_.take_from(child_) || wants_terminal);
}

// The command has stopped, by Ctrl-Z say: the whole job stops, as the shell expects.
void Supervisor::suspend(bool had_terminal) {
  // The keyboard's signal went to the command's group: the rest of our job has not seen it.
  ::kill(had_terminal ? 0 : ::getpid(), SIGTSTP);
  stop_until_continued();
  resume(had_terminal);
}

void Supervisor::resume(bool had_terminal) {
  if (!options_.may_resume()) {
    // Not even to clean up: while it was stopped, another may have begun to work.
    if (options_.on_lost == OnLost::term) options_.on_lost = OnLost::kill;
    lose();
    if (ending_) return;
  }
  if (had_terminal && terminal_.is_ours()) terminal_.give_to(child_);
  ::kill(-child_, SIGCONT);
}

void Supervisor::end(Ended why) {
  if (ending_) return;
  ending_ = true;
  result_.ended = why;
  const bool kill_at_once = why == Ended::by_loss && options_.on_lost == OnLost::kill;
  const TimePoint now = BootClock::now();
  kill_at_ = kill_at_once ? now : std::min(after(now, options_.grace), options_.kill_deadline());
  if (kill_at_ > now) terminate(tree_);
}

void Supervisor::end_step() {
  if (BootClock::now() >= std::min(kill_at_, options_.kill_deadline())) {
    nothing_left_ = kill_now(tree_);
  } else {
    nothing_left_ = find_processes(tree_).empty();
  }
  reap();
}

}  // namespace rlock::process
