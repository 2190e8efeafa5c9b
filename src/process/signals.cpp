#include "process/signals.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.hpp"

namespace rlock::process {
namespace {

template <typename Predicate>
sigset_t signals_that(Predicate are_wanted) {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal = 1; signal < NSIG; ++signal) {
    if (are_wanted(signal)) ::sigaddset(&set, signal);
  }
  return set;
}

sigset_t only(int wanted) {
  return signals_that([wanted](int signal) { return signal == wanted; });
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

bool ends_process(int signal) noexcept {
  constexpr std::array k_harmless = {SIGCHLD, SIGCONT, SIGURG,  SIGWINCH,
                                     SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
  return std::ranges::find(k_harmless, signal) == k_harmless.end();
}

void stop_until_continued() noexcept {
  const sigset_t stop = only(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);  // stops here, until SIGCONT
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
  const sigset_t go_on = only(SIGCONT);
  const timespec at_once{};
  ::sigtimedwait(&go_on, nullptr, &at_once);
}

Signals::Signals() : callers_ignored_(signals_that(is_ignored)) {
  ::sigprocmask(SIG_SETMASK, nullptr, &callers_mask_);
  read(signals_that([this](int signal) {
    return ends_process(signal) && ::sigismember(&callers_ignored_, signal) == 0;
  }));
}

void Signals::read_all() {
  // With SIGCHLD ignored, children would vanish together with their status.
  ::signal(SIGCHLD, SIG_DFL);
  // Blocked although ignored: giving the terminal away must not stop us.
  const sigset_t terminal_output = only(SIGTTOU);
  ::sigprocmask(SIG_BLOCK, &terminal_output, nullptr);
  read(signals_that([this](int signal) {
    return signal == SIGCHLD || ::sigismember(&callers_ignored_, signal) == 0;
  }));
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
  restore_callers_mask();
}

}  // namespace rlock::process
