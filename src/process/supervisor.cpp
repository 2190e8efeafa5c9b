#include "process/supervisor.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"
#include "base/process_stat.hpp"

namespace rlock::process {
namespace {

// While the command's processes are ending, nothing reports the end of processes that are not
// children of rlock. So rlock searches again after this time.
constexpr Milliseconds k_look_again{20};
constexpr Milliseconds k_longest_pause{500};  // between two searches if processes do not end
constexpr Milliseconds k_try_again{100};
// Without an answer within this time after a stop, the command goes on.
constexpr Milliseconds k_resumption_bound{1000};
// The time in which processes that get SIGKILL have ended, also with --kill-after 0.
constexpr Milliseconds k_shortest_end{1000};
// How long rlock waits for processes if it can neither look at them nor end them.
constexpr Milliseconds k_stall_bound{10'000};

// Returns as waitpid() does how a child has ended.
int wait_status_of(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return W_EXITCODE(info.si_status, 0);
  return W_EXITCODE(0, info.si_status) | (info.si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

// Waits for `which` children without blocking. Returns false if there is nothing to tell.
bool look_for(idtype_t which, id_t id, siginfo_t& info, int options) {
  int failed = 0;
  do {
    info = {};
    failed = ::waitid(which, id, &info, options | WNOHANG);
  } while (failed != 0 && errno == EINTR);
  return failed == 0 && info.si_pid != 0;
}

bool asks_to_end(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

}  // namespace

Supervisor::Supervisor(Signals& signals, Guardian& guardian, Options options)
    : signals_(signals), guardian_(guardian), options_(std::move(options)), pause_(k_look_again) {
  // Descendants whose parents die become our children: none is out of reach.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Supervisor::~Supervisor() {
  if (!wait_status_) return;
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {  // the command, and all that has ended beside it
  }
}

void Supervisor::start(const Command& command) {
  child_ = start_child(command, signals_, terminal_, guardian_);
  tree_ = guardian_.tree();
  tree_.except = guardian_.pid();
  tree_.group = child_;
  if (const auto stat = read_process_stat(child_)) tree_.since = stat->start;
}

Supervisor::Result Supervisor::run() {
  while (!is_over()) {
    alarm_.set(next_alarm());
    wait();
    if (!result_.lost && BootClock::now() >= options_.loss_time()) lose();
    // A command that is kept stopped must not go on before it is known whether the lock is held.
    if (!resumption_ && BootClock::now() >= options_.time_limit) end(Ended::by_time);
    if (BootClock::now() >= options_.late_start) start_late();
    if (resumption_ && BootClock::now() >= resumption_->deadline) go_on();
    const bool had_ended = wait_status_.has_value();
    reap();
    if (had_ended || !wait_status_) keep_guardian();
    if (is_ending()) end_step();
  }
  if (!wait_status_) wait_status_ = W_EXITCODE(0, SIGKILL);  // which it got, but it goes on
  const bool had_terminal = terminal_.take_from(child_);
  const bool signaled = WIFSIGNALED(*wait_status_);
  if (had_terminal && signaled) terminal_.restore_modes();
  result_.typed_ctrl_c = had_terminal && !is_ending() && !forwarded_interrupt_ && signaled &&
                         WTERMSIG(*wait_status_) == SIGINT;
  result_.wait_status = *wait_status_;
  return result_;
}

// If an inner run was killed, its guardian gives the inner command time to end. Until then, the
// inner command also relies on the outer lock.
bool Supervisor::is_over() {
  if (is_ending()) {
    if (wait_status_ && nothing_left_) return true;
    return result_.is_unsure = gives_up();
  }
  if (!wait_status_) return false;
  const Orphans orphans = find_orphaned_guardians(guardian_.pid(), child_);
  if (orphans == Orphans::none) return true;
  note_stall(orphans != Orphans::at_work);
  if (!gives_up()) return false;
  // What rlock cannot see it cannot kill.
  if (orphans == Orphans::unknown) return result_.is_unsure = true;
  signal_end_ = after(BootClock::now(), k_shortest_end);
  kill_at_ = BootClock::now();
  end(Ended::afterwards);
  end_step();
  return false;
}

void Supervisor::note_stall(bool stalls) {
  if (!stalls) {
    stall_end_ = TimePoint::max();
  } else if (stall_end_ == TimePoint::max()) {
    stall_end_ = after(BootClock::now(), is_asked_to_end_ ? end_bound() : k_stall_bound);
  }
}

Milliseconds Supervisor::end_bound() const { return std::max(options_.grace, k_shortest_end); }

bool Supervisor::gives_up() const { return BootClock::now() >= std::min(signal_end_, stall_end_); }

void Supervisor::wait() {
  std::array<pollfd, 4> polled = {{{signals_.fd(), POLLIN, 0},
                                   {result_.lost ? -1 : options_.lost_fd, POLLIN, 0},
                                   {resumption_ ? options_.answer_fd : -1, POLLIN, 0},
                                   {alarm_.fd(), POLLIN, 0}}};
  static_cast<void>(poll_until(polled, TimePoint::max()));
  if (polled[0].revents != 0) {
    while (const auto signal = signals_.next()) {
      if (signal->number != SIGCHLD && !signal->from_self) forward(*signal);
    }
  }
  if (polled[1].revents != 0) lose();
  if (polled[2].revents != 0 && resumption_) go_on();
}

TimePoint Supervisor::next_alarm() const {
  const TimePoint now = BootClock::now();
  if (is_ending() || wait_status_) return after(now, pause_);
  TimePoint next = resumption_ ? resumption_->deadline : options_.time_limit;
  next = std::min(next, options_.late_start);
  if (!result_.lost) next = std::min(next, options_.loss_time());
  // Then rlock also notices what it missed, such as a lost SIGCHLD.
  return std::min(next, after(now, guardian_.answer_bound()));
}

void Supervisor::start_late() {
  const bool done = options_.start_late();
  options_.late_start = done ? TimePoint::max() : after(BootClock::now(), k_try_again);
}

void Supervisor::lose() {
  if (std::exchange(result_.lost, true)) return;  // SIGCONT and the watchdog tell of the same loss
  // Not even to clean up: while it was stopped, another may have begun to work.
  if (resumption_ && options_.on_lost == OnLost::term) options_.on_lost = OnLost::kill;
  if (options_.on_lost != OnLost::ignore) end(Ended::by_loss);
  options_.on_loss();
}

void Supervisor::forward(const Signal& signal) {
  is_asked_to_end_ = is_asked_to_end_ || asks_to_end(signal.number);
  if (asks_to_end(signal.number) && (wait_status_ || is_ending())) {
    const TimePoint begin = std::max(BootClock::now(), is_ending() ? kill_at_ : TimePoint::min());
    signal_end_ = std::min(signal_end_, after(begin, end_bound()));
  }
  if (wait_status_) return;
  if (signal.number == SIGCONT) {
    // One that comes although nothing was stopped changes nothing.
    if (resumption_) return;
    if (BootClock::now() >= guardian_.kill_time()) return lose();
    if (terminal_.is_for_command()) terminal_.give_to(child_);
  }
  forwarded_interrupt_ = forwarded_interrupt_ || signal.number == SIGINT;
  const bool is_told = ::kill(-child_, signal.number) == 0;
  if (!is_told && errno == EPERM) report_unkillable(child_);
  // A stopped command gets the signal only when it continues. But a command that rlock keeps
  // stopped until the lock is confirmed must stay stopped.
  const auto leader = read_process_stat(child_);
  const bool is_stopped = leader && leader->state == 'T';
  if (is_stopped && !resumption_ && asks_to_end(signal.number)) ::kill(-child_, SIGCONT);
}

void Supervisor::report_unkillable(pid_t pid) {
  if (!std::exchange(has_reported_unkillable_, true)) options_.on_unkillable(pid);
}

// The command itself is reaped last: until then, nobody else can have the number of its group.
void Supervisor::reap() {
  siginfo_t info{};
  while (look_for(P_PID, static_cast<id_t>(child_), info, WSTOPPED)) on_stopped(info.si_status);
  while (look_for(P_ALL, 0, info, WEXITED | WNOWAIT)) {
    if (info.si_pid == child_) {
      wait_status_ = wait_status_of(info);
      return;
    }
    ::waitpid(info.si_pid, nullptr, WNOHANG);
  }
}

// Somebody may have killed it, stopped it, or keep it from running.
void Supervisor::keep_guardian() {
  if (guardian_.is_well()) return guardian_.ask();
  try {
    guardian_.replace();
  } catch (const Error&) {  // the command is no less under control than without: again later
  }
  tree_.except = std::max(guardian_.pid(), 0);
}

void Supervisor::on_stopped(int signal) {
  if (!terminal_.exists() || is_ending()) return;  // nobody would ever continue us
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
  const TimePoint now = BootClock::now();
  resumption_ = {had_terminal, after(now, k_resumption_bound)};
  if (now >= guardian_.kill_time()) return lose();
  options_.ask();
}

// Without an answer from the server, the lock counts as held until the known lease ends.
void Supervisor::go_on() {
  if (BootClock::now() >= guardian_.kill_time()) return lose();
  const bool had_terminal = resumption_->had_terminal;
  resumption_.reset();
  if (had_terminal && terminal_.is_ours()) terminal_.give_to(child_);
  ::kill(-child_, SIGCONT);
}

void Supervisor::end(Ended why) {
  const TimePoint now = BootClock::now();
  if (why == Ended::by_loss && options_.on_lost == OnLost::kill) kill_at_ = now;
  if (is_ending()) return;
  resumption_.reset();
  result_.ended = why;
  kill_at_ = std::min({kill_at_, after(now, options_.grace), guardian_.kill_time()});
  if (kill_at_ > now) terminate(tree_);
  if (why == Ended::by_time) options_.on_time_limit();
}

void Supervisor::end_step() {
  if (BootClock::now() < std::min(kill_at_, guardian_.kill_time())) {
    nothing_left_ = is_gone(tree_);
    return;
  }
  const Killed killed = kill_now(tree_);
  nothing_left_ = killed.all;
  note_stall(!killed.all && !killed.any);
  if (!nothing_left_) pause_ = std::min(pause_ * 2, k_longest_pause);
  if (killed.unkillable != 0) report_unkillable(killed.unkillable);
}

bool Supervisor::kill_command() {
  result_.lost = true;  // and reported
  resumption_.reset();
  if (!is_ending()) result_.ended = Ended::by_loss;
  kill_at_ = BootClock::now();
  for (end_step(); !nothing_left_ && !gives_up(); end_step()) {
    alarm_.set(next_alarm());
    wait();
  }
  return nothing_left_;
}

}  // namespace rlock::process
