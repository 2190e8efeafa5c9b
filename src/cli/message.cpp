#include "cli/message.hpp"

#include <cerrno>
#include <csignal>
#include <poll.h>
#include <unistd.h>

#include "base/error.hpp"

namespace rlock::cli {

namespace {

// Returns 0, or an errno.
int write_out(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

[[noreturn]] void refuse_stdout(int error) {
  throw Error(ExitStatus::unavailable, "stdout: " + errno_text(error));
}

}  // namespace

void write_stderr(std::string_view text) noexcept {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

void say(std::string_view text) noexcept { write_stderr("rlock: " + std::string(text) + "\n"); }

void end_if_unread() noexcept {
  pollfd polled{STDOUT_FILENO, 0, 0};
  // A socket, as sshd gives us, hangs up instead.
  if (::poll(&polled, 1, 0) == 1 && (polled.revents & (POLLERR | POLLHUP)) != 0) {
    ::_exit(static_cast<int>(ExitStatus::signal_base) + SIGPIPE);
  }
}

void print(const std::string& text) {
  const int error = write_out(text);
  if (error == EPIPE) ::_exit(static_cast<int>(ExitStatus::signal_base) + SIGPIPE);
  if (error != 0) refuse_stdout(error);
}

void print_or_throw(const std::string& text) {
  if (const int error = write_out(text)) refuse_stdout(error);
}

}  // namespace rlock::cli
