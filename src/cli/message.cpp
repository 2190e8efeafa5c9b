#include "cli/message.hpp"

#include <cerrno>
#include <csignal>
#include <poll.h>
#include <unistd.h>

#include "base/error.hpp"

namespace rlock::cli {

namespace {

// Takes user and password out of every URL: a message may repeat words of the command line.
std::string without_credentials(std::string_view text) {
  constexpr std::string_view k_mark = "://";
  std::string result;
  while (true) {
    const std::size_t mark = text.find(k_mark);
    if (mark == std::string_view::npos) return result += text;
    result += text.substr(0, mark + k_mark.size());
    text.remove_prefix(mark + k_mark.size());
    const std::size_t at = text.substr(0, text.find_first_of(" '\"")).rfind('@');
    if (at != std::string_view::npos) text.remove_prefix(at + 1);
  }
}

}  // namespace

void say(std::string_view text) noexcept {
  const std::string line = "rlock: " + without_credentials(text) + "\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

void end_if_unread() noexcept {
  pollfd polled{STDOUT_FILENO, 0, 0};
  // A socket, as sshd gives us, hangs up instead.
  if (::poll(&polled, 1, 0) == 1 && (polled.revents & (POLLERR | POLLHUP)) != 0) {
    ::_exit(static_cast<int>(ExitStatus::signal_base) + SIGPIPE);
  }
}

void print(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      ::_exit(static_cast<int>(ExitStatus::signal_base) + SIGPIPE);
    } else if (errno != EINTR) {
      throw Error(ExitStatus::unavailable, "stdout: " + errno_text(errno));
    }
  }
}

}  // namespace rlock::cli
