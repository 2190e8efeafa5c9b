#include "process/terminal.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace rlock::process {

Terminal::Terminal() : fd_(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {
  termios modes{};
  if (fd_.valid() && ::tcgetattr(fd_.get(), &modes) == 0) modes_ = modes;
}

bool Terminal::is_ours() const noexcept {
  return exists() && ::tcgetpgrp(fd_.get()) == ::getpgrp();
}

bool Terminal::is_for_command() const noexcept {
  // So a shell without job control starts what is to run in the background.
  struct sigaction interrupt {};
  ::sigaction(SIGINT, nullptr, &interrupt);
  return interrupt.sa_handler != SIG_IGN && is_ours() && ::isatty(STDIN_FILENO) == 1 &&
         ::isatty(STDOUT_FILENO) == 1;
}

void Terminal::give_to(pid_t group) const noexcept { ::tcsetpgrp(fd_.get(), group); }

bool Terminal::take_from(pid_t group) const noexcept {
  if (!exists() || ::tcgetpgrp(fd_.get()) != group) return false;
  ::tcsetpgrp(fd_.get(), ::getpgrp());
  return true;
}

void Terminal::restore_modes() const noexcept {
  // What is written may never be shown: the terminal may be stopped.
  if (modes_) ::tcsetattr(fd_.get(), TCSANOW, &*modes_);
}

}  // namespace rlock::process
