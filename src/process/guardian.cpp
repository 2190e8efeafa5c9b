#include "process/guardian.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "process/descendants.hpp"

namespace rlock::process {

struct Guardian::Shared {
  std::atomic<TimePoint::rep> kill_time;
  std::atomic<pid_t> group;
};

namespace {

// Another name than ours, so that `killall rlock` and `pkill rlock` leave somebody to clean up.
void rename_process(pid_t guarded) {
  ::prctl(PR_SET_NAME, "lock-guardian");
  std::array<char, 4096> buffer{};
  const Fd fd(::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  const ssize_t size = ::read(fd.get(), buffer.data(), buffer.size());
  if (size <= 0) return;
  const std::string title = "lock-guardian of " + std::to_string(guarded);
  const auto room = static_cast<std::size_t>(size) - 1;
  std::memset(program_invocation_name, 0, room);  // the start of the arguments
  std::copy_n(title.begin(), std::min(title.size(), room), program_invocation_name);
}

void close_all_but(int one, int other) {
  const auto low = static_cast<unsigned>(std::min(one, other));
  const auto high = static_cast<unsigned>(std::max(one, other));
  if (low > 0) ::close_range(0, low - 1, 0);
  if (high > low + 1) ::close_range(low + 1, high - 1, 0);
  ::close_range(high + 1, ~0U, 0);
}

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
    throw Error(ExitStatus::internal, "cannot set up the guardian: " + errno_text(errno));
  }
  shared_ = new (memory) Shared{};
  shared_->kill_time = TimePoint::max().time_since_epoch().count();
  Fd read_end(pipe[0]);
  life_line_ = Fd(pipe[1]);
  const pid_t guarded = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw Error(ExitStatus::unavailable, "cannot fork: " + errno_text(errno));
  if (pid_ > 0) {
    handle_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    return;
  }

  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::setsid();
  life_line_.reset();
  rename_process(guarded);
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
  alarm_.set(when);
  shared_->kill_time = when.time_since_epoch().count();
}

void Guardian::set_group(pid_t group) noexcept { shared_->group = group; }

// By descriptor: should the guardian have died and been reaped, its number may be somebody else's.
void Guardian::dismiss() const noexcept {
  ::syscall(SYS_pidfd_send_signal, handle_.get(), SIGKILL, nullptr, 0);
}

Guardian::~Guardian() {
  dismiss();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::munmap(shared_, sizeof(Shared));
}

}  // namespace rlock::process
