#include "process/signals.hpp"

#include <cerrno>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.hpp"

namespace rlock::process {
namespace {

sigset_t ignored_signals() {
  sigset_t ignored;
  ::sigemptyset(&ignored);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) != 0) continue;
    if (action.sa_handler == SIG_IGN) ::sigaddset(&ignored, signal);
  }
  return ignored;
}

}  // namespace

bool ends_process(int signal) noexcept {
  switch (signal) {
    case SIGCHLD:
    case SIGCONT:
    case SIGURG:
    case SIGWINCH:
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
      return false;
    default:
      return true;
  }
}

void stop_until_continued() noexcept {
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);  // stops here, until SIGCONT
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
  sigset_t go_on;
  ::sigemptyset(&go_on);
  ::sigaddset(&go_on, SIGCONT);
  const timespec at_once{};
  ::sigtimedwait(&go_on, nullptr, &at_once);
}

Signals::Signals() : callers_ignored_(ignored_signals()) {
  ::sigprocmask(SIG_SETMASK, nullptr, &callers_mask_);
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal = 1; signal < NSIG; ++signal) {
    if (ends_process(signal) && ::sigismember(&callers_ignored_, signal) == 0) {
      ::sigaddset(&set, signal);
    }
  }
  read(set);
}

void Signals::read_all() {
  // With SIGCHLD ignored, children would vanish together with their status.
  ::signal(SIGCHLD, SIG_DFL);
  sigset_t set;
  ::sigfillset(&set);
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGCHLD && ::sigismember(&callers_ignored_, signal) == 1) {
      ::sigdelset(&set, signal);
    }
  }
  // Blocked although ignored: giving the terminal away must not stop us.
  sigset_t terminal_output;
  ::sigemptyset(&terminal_output);
  ::sigaddset(&terminal_output, SIGTTOU);
  ::sigprocmask(SIG_BLOCK, &terminal_output, nullptr);
  read(set);
}

void Signals::read_also(int signal) {
  if (::sigismember(&callers_ignored_, signal) == 1) return;
  sigset_t set = set_;
  ::sigaddset(&set, signal);
  read(set);
}

void Signals::read(const sigset_t& set) {
  set_ = set;
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  const int fd = ::signalfd(fd_.get(), &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) throw_errno("signalfd");
  if (!fd_.valid()) fd_ = Fd(fd);
}

std::optional<Signal> Signals::next() noexcept {
  signalfd_siginfo info{};
  ssize_t got = 0;
  do {
    got = ::read(fd_.get(), &info, sizeof info);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof info) return std::nullopt;
  return Signal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL,
                info.ssi_code != SI_KERNEL && info.ssi_pid == static_cast<unsigned>(::getpid())};
}

void Signals::restore_in_child() const noexcept {
  if (::sigismember(&callers_ignored_, SIGCHLD) == 1) ::signal(SIGCHLD, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, &callers_mask_, nullptr);
}

}  // namespace rlock::process
