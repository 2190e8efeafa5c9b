#include "process/guardian.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <new>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"
#include "process/detach.hpp"
#include "process/search.hpp"

namespace rlock::process {

struct Guardian::Shared {
  std::atomic<TimePoint> kill_time = TimePoint::max();
  std::atomic<Milliseconds> search_margin;
  std::atomic<pid_t> group;
  std::atomic<bool> is_armed;
  std::atomic<bool> is_apart;   // in a session of its own
  std::atomic<unsigned> asked;  // counts the questions of rlock
  std::atomic<unsigned> answered;
  std::atomic<bool> is_searching;  // and answers later
  std::atomic<bool> has_killed;
};

namespace {

constexpr Milliseconds k_first_look{100};  // most commands have ended by then
// The interval between two searches is 500 times their processor time, so that they cost little.
constexpr int k_share = 500;
constexpr Milliseconds k_shortest_interval{5000};
constexpr Milliseconds k_longest_interval{60'000};
constexpr Milliseconds k_slowest_look{200};  // between two looks at processes that do not die

constexpr Milliseconds k_poll{50};  // between two looks whether a command has ended

// A guardian that is not stopped answers within this time, also on a busy machine.
constexpr Milliseconds k_guardian_answer{5000};

// Before the command starts, when the lease already runs, rlock waits for less time: to replace a
// guardian without need does no harm.
constexpr Milliseconds k_start_bound{1000};

constexpr Milliseconds k_reap_bound{1000};  // what was killed ends sooner

// Between two looks whether the guardian is in its own session, or has answered (us). No
// sched_yield(): Linux 6.18 lets a process that yields often wait for its turn, on a busy machine
// for a second.
constexpr useconds_t k_short_pause = 50;

// What is killed is searched for, and once more for what was born meanwhile.
constexpr int k_searches = 2;

// Whether the other end of this pipe is open: nobody but the guardian has it.
bool is_read(const Fd& pipe) { return pipe.valid() && (poll_now(pipe, 0) & POLLERR) == 0; }

// Whether the end that rlock has of this pipe is closed.
bool is_closed(const Fd& liveness_pipe) { return poll_now(liveness_pipe, POLLIN) != 0; }

// The alarm is not ours alone: rlock, should it go on, still sets it.
void sleep_until(TimePoint when) { static_cast<void>(poll_until({}, when)); }

void kill_all(CommandProcesses tree, const Fd& liveness_pipe) {
  // One look can miss a process whose parent ends meanwhile.
  int clean_looks = 0;
  for (Milliseconds pause{10};; pause = std::min(pause * 2, k_slowest_look)) {
    clean_looks = kill_now(tree).all ? clean_looks + 1 : 0;
    if (clean_looks == 2) return;
    sleep_until(after(BootClock::now(), pause));
    tree.keeps_group = tree.keeps_group && !is_closed(liveness_pipe);
  }
}

}  // namespace

Guardian::Guardian(std::string marker, Milliseconds grace, Milliseconds answer_bound,
                   std::vector<Identity> preexisting_children)
    : tree_{.root = ::getpid(),
            .session = ::getsid(0),
            .marker = std::move(marker),
            .preexisting_children = std::move(preexisting_children)},
      grace_(grace),
      answer_bound_(std::min(answer_bound, k_guardian_answer)) {
  keep_room_for_search();
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw_errno("cannot set up the guardian");
  shared_ = {new (memory) Shared{}, [](Shared* shared) { ::munmap(shared, sizeof(Shared)); }};
  start();
}

void Guardian::start() {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw_errno("cannot set up the guardian");
  const Fd read_end(pipe[0]);
  liveness_pipe_ = Fd(pipe[1]);
  // Made here: each new page of memory costs the new process more.
  const std::string title = k_guardian_name + (" of " + std::to_string(tree_.root));
  // The guardian has its name from the start, because an outer run may search for it at any time.
  std::array<char, 16> name{};
  ::prctl(PR_GET_NAME, name.data());
  ::prctl(PR_SET_NAME, k_guardian_name);
  const TimePoint now = BootClock::now();
  first_look_ = after(now, k_first_look);
  shared_->is_apart = false;
  shared_->is_searching = false;
  shared_->answered = shared_->asked++;  // the first answer comes without a wake-up
  asked_ = now;
  pid_ = ::fork();
  if (pid_ != 0) ::prctl(PR_SET_NAME, name.data());
  if (pid_ < 0) throw_errno("cannot fork");
  if (pid_ == 0) watch(read_end, title);
}

// The guardian's life.
void Guardian::watch(const Fd& liveness_pipe, const std::string& title) noexcept {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::setsid();
  shared_->is_apart = true;
  liveness_pipe_.reset();
  rename_process(k_guardian_name, title);
  // Holding the terminal, a pipe's end or a working directory would keep others waiting.
  close_all_but(liveness_pipe.get(), alarm_.fd());
  [[maybe_unused]] const int moved = ::chdir("/");
  tree_.except = tree_.root;
  const bool has_died = wait_for_end(liveness_pipe);
  tree_.group = shared_->group;
  if (has_died) {
    // Whoever reaps the leader lets others have the group's number, once it is empty.
    tree_.root = 0;
    tree_.keeps_group = false;
    if (grace_ > Milliseconds(0)) end_gently();
  } else {
    shared_->has_killed = true;
  }
  kill_all(tree_, liveness_pipe);
  ::_exit(0);
}

// Ends the command like a signal to rlock. Waits until no process is left, or until it is time to
// kill the rest. The machine may be far busier than when the margin was measured.
void Guardian::end_gently() noexcept {
  TimePoint begin = BootClock::now();
  const TimePoint last = after(begin, grace_);
  terminate(tree_);
  while (true) {
    const TimePoint now = BootClock::now();
    const auto taken = std::chrono::ceil<Milliseconds>(now - begin);
    shared_->search_margin = std::max(search_margin(), taken * k_searches);
    const TimePoint next = after(now, k_poll);
    const TimePoint end = std::min(last, kill_time());
    if (after(next, taken) >= end) return sleep_until(end);
    sleep_until(next);
    begin = BootClock::now();
    note_members(tree_);
    if (tree_.members.empty()) return;
  }
}

// Returns true when rlock has died, false when the kill time has come.
bool Guardian::wait_for_end(const Fd& liveness_pipe) noexcept {
  TimePoint next_look = first_look_;
  bool has_command = false;  // until then there is nothing to look for
  while (true) {
    // After the alarm was set: a question that comes now rings it.
    shared_->answered = shared_->asked.load();
    std::array<pollfd, 2> polled = {{{liveness_pipe.get(), POLLIN, 0}, {alarm_.fd(), POLLIN, 0}}};
    static_cast<void>(poll_until(polled, next_look));
    if (polled[0].revents != 0) return true;
    const TimePoint now = BootClock::now();
    if (!has_command && shared_->is_armed) {
      has_command = true;
      next_look = std::min(next_look, after(now, k_first_look));
    }
    if (now >= next_look && !has_command) {
      next_look = after(now, k_longest_interval);
    } else if (now >= next_look) {
      tree_.group = shared_->group;
      shared_->is_searching = true;
      const auto taken = std::chrono::ceil<Milliseconds>(note_members(tree_));
      shared_->search_margin = taken * k_searches;
      shared_->is_searching = false;
      next_look = after(BootClock::now(),
                        std::clamp(taken * k_share, k_shortest_interval, k_longest_interval));
      alarm_.set(kill_time());
    }
    if (!alarm_.has_rung()) continue;
    // rlock may have moved the time just now.
    if (BootClock::now() >= kill_time()) return false;
    alarm_.set(kill_time());
  }
}

void Guardian::set_kill_time(TimePoint when) noexcept {
  shared_->kill_time = when;
  if (shared_->is_armed) ask();
}

// Wakes the guardian, which then sets the alarm to the kill time.
void Guardian::ask() noexcept {
  const TimePoint now = BootClock::now();
  if (has_answered()) {
    asked_ = now;
    ++shared_->asked;
  }
  alarm_.set(now);
}

bool Guardian::has_answered() const noexcept { return shared_->answered == shared_->asked; }

TimePoint Guardian::kill_time() const noexcept {
  const TimePoint when = shared_->kill_time;
  return when == TimePoint::max() ? when : when - search_margin();
}

Milliseconds Guardian::search_margin() const noexcept { return shared_->search_margin; }

// Returns whether the guardian lives and was not stopped.
bool Guardian::is_standing() const noexcept {
  siginfo_t info{};
  const int failed = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG);
  return is_read(liveness_pipe_) && (failed != 0 || info.si_pid == 0);
}

bool Guardian::is_well() const noexcept {
  // It ends when it has done its work.
  if (has_killed()) return true;
  // Nobody knows how long a first search takes.
  const Milliseconds bound = shared_->is_searching ? k_guardian_answer : answer_bound_;
  return is_standing() &&
         (has_answered() || BootClock::now() < after(asked_, bound + search_margin()));
}

void Guardian::arm() {
  shared_->is_armed = true;
  // A new guardian has still to look for the command, and to answer for the first time.
  const bool is_new = BootClock::now() < first_look_;
  if (is_new) {
    alarm_.set(kill_time());
  } else {
    ask();
  }
  const TimePoint bound = after(BootClock::now(), std::min(k_start_bound, answer_bound_));
  while (is_well()) {
    if (is_new || has_answered() || has_killed()) return;
    if (BootClock::now() >= bound) break;
    ::usleep(k_short_pause);
  }
  replace();
}

void Guardian::replace() {
  const pid_t old = pid_;
  const Fd old_line =
      std::move(liveness_pipe_);  // when this closes, the old one takes rlock for dead
  // It may take a while to end, for example in a debugger: the supervisor reaps it.
  const auto end_old = [&] {
    if (is_read(old_line)) ::kill(old, SIGKILL);
  };
  try {
    start();  // first: rlock can be killed at any moment
  } catch (...) {
    end_old();
    throw;
  }
  end_old();
  alarm_.set(kill_time());
}

Guardian::Admission Guardian::register_command() const noexcept {
  shared_->group = ::getpid();
  // On a busy machine it has perhaps not run yet, and what kills rlock's group would still kill it.
  const TimePoint bound = after(BootClock::now(), k_guardian_answer);
  while (!shared_->is_apart) {
    const TimePoint now = BootClock::now();
    if (now >= std::min(kill_time(), start_limit_)) break;
    if (now >= bound || !is_read(liveness_pipe_)) return Admission::no_guardian;
    ::usleep(k_short_pause);
  }
  const bool is_late = BootClock::now() >= std::min(kill_time(), start_limit_);
  return is_late ? Admission::too_late : Admission::admitted;
}

bool Guardian::has_killed() const noexcept { return shared_->has_killed; }

void Guardian::disarm() noexcept {
  // As long as it lives nobody has reaped it, so that its number is its own.
  if (is_dismissed_ || !is_read(liveness_pipe_)) return;
  is_dismissed_ = ::kill(pid_, SIGKILL) == 0;
  is_killed_ = is_dismissed_;
}

Guardian::~Guardian() {
  disarm();
  if (!is_killed_) return;
  // A debugger may keep it.
  const TimePoint bound = after(BootClock::now(), k_reap_bound);
  while (::waitpid(pid_, nullptr, WNOHANG) == 0 && BootClock::now() < bound) ::usleep(100);
}

}  // namespace rlock::process
