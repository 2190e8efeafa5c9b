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
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "process/descendants.hpp"
#include "process/detach.hpp"

namespace rlock::process {

struct Guardian::Shared {
  std::atomic<TimePoint::rep> kill_time;
  std::atomic<pid_t> group;
};

namespace {

// Returns true when rlock has died, false when the time of SIGKILL has come.
bool wait_for_death(int life_line, const Alarm& alarm) {
  std::array<pollfd, 2> polled = {{{life_line, POLLIN, 0}, {alarm.fd(), POLLIN, 0}}};
  while (true) {
    if (::poll(polled.data(), polled.size(), -1) < 0) continue;
    if ((polled[0].revents & (POLLHUP | POLLIN)) != 0) return true;
    // rlock may have moved the time just now.
    if (alarm.has_rung()) return false;
  }
}

// Whether the other end of this pipe is open: nobody but the guardian has it.
bool is_read(const Fd& pipe) {
  pollfd polled{pipe.get(), 0, 0};
  while (::poll(&polled, 1, 0) < 0 && errno == EINTR) {
  }
  return (polled.revents & POLLERR) == 0;
}

// The alarm is not ours alone: rlock, should it go on, still sets it.
void sleep_until(TimePoint when) { ::poll(nullptr, 0, poll_timeout(when)); }

void kill_all(const Tree& tree) {
  while (!kill_now(tree)) sleep_until(BootClock::now() + Milliseconds(10));
}

}  // namespace

Guardian::Guardian(const std::string& marker, Milliseconds grace) {
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  std::array<int, 2> pipe{};
  if (memory == MAP_FAILED || ::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    throw Error(ExitStatus::unavailable, "cannot set up the guardian: " + errno_text(errno));
  }
  shared_ = new (memory) Shared{};
  shared_->kill_time = TimePoint::max().time_since_epoch().count();
  Fd read_end(pipe[0]);
  life_line_ = Fd(pipe[1]);
  const pid_t guarded = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw Error(ExitStatus::unavailable, "cannot fork: " + errno_text(errno));
  if (pid_ > 0) return;

  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::setsid();
  life_line_.reset();
  rename_process("lock-guardian", "lock-guardian of " + std::to_string(guarded));
  // Holding the terminal, a pipe's end or a working directory would keep others waiting.
  close_all_but(read_end.get(), alarm_.fd());
  [[maybe_unused]] const int moved = ::chdir("/");

  const bool died = wait_for_death(read_end.get(), alarm_);
  const Tree tree{0, guarded, shared_->group, marker};
  if (died && grace > Milliseconds(0)) {
    terminate(tree);
    const TimePoint kill_time{TimePoint::duration(shared_->kill_time.load())};
    const TimePoint last = std::min(after(BootClock::now(), grace), kill_time);
    while (BootClock::now() < last && !find_processes(tree).empty()) {
      sleep_until(std::min(last, after(BootClock::now(), Milliseconds(50))));
    }
  }
  kill_all(tree);
  ::_exit(0);
}

void Guardian::set_kill_time(TimePoint when) noexcept {
  shared_->kill_time = when.time_since_epoch().count();
  if (is_armed_) alarm_.set(when);
}

void Guardian::arm() noexcept {
  is_armed_ = true;
  alarm_.set(TimePoint(TimePoint::duration(shared_->kill_time.load())));
}

void Guardian::set_group(pid_t group) noexcept { shared_->group = group; }

void Guardian::dismiss() noexcept {
  // As long as it lives nobody has reaped it, so that its number is its own.
  if (is_dismissed_ || !is_read(life_line_)) return;
  is_dismissed_ = true;
  ::kill(pid_, SIGKILL);
}

Guardian::~Guardian() {
  dismiss();
  while (is_dismissed_ && ::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::munmap(shared_, sizeof(Shared));
}

}  // namespace rlock::process
