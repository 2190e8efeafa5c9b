#include "cli/terminal/message.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <poll.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

#include "base/error.hpp"

namespace rlock::cli {

namespace {

// While this object lives, signals that a write of this thread raises neither end nor stop the
// process: SIGPIPE (nobody reads), SIGXFSZ (ulimit -f), and SIGTTOU (a background job writes to a
// terminal with tostop). None stays pending: rlock would read it as a request to end.
class OwnSignals {
 public:
  OwnSignals() noexcept {
    const sigset_t set = set_of({SIGPIPE, SIGXFSZ, SIGTTOU});
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  OwnSignals(const OwnSignals&) = delete;
  OwnSignals& operator=(const OwnSignals&) = delete;
  ~OwnSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  // Takes the signal, if any, of a write that failed with `error`. One from another process stays:
  // it is pending for the process, and the thread's own is taken first.
  static void take(int error) noexcept {
    if (error != EPIPE && error != EFBIG) return;
    const sigset_t set = set_of({error == EPIPE ? SIGPIPE : SIGXFSZ});
    const timespec at_once{};
    ::sigtimedwait(&set, nullptr, &at_once);
  }

 private:
  static sigset_t set_of(std::initializer_list<int> signals) noexcept {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int signal : signals) ::sigaddset(&set, signal);
    return set;
  }

  sigset_t before_{};
};

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

// In one write, which takes no memory. A message that nobody can read changes nothing else.
void write_parts(std::initializer_list<std::string_view> texts, Milliseconds patience) noexcept {
  std::array<iovec, 3> parts{};
  int count = 0;
  for (const std::string_view text : texts) {
    parts[static_cast<std::size_t>(count++)] = {const_cast<char*>(text.data()), text.size()};
  }
  const OwnSignals own;
  pollfd polled{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&polled, 1, static_cast<int>(patience.count())) == 0) return;
  ssize_t written = 0;
  do {
    written = ::writev(STDERR_FILENO, parts.data(), count);
  } while (written < 0 && errno == EINTR);
  if (written < 0) OwnSignals::take(errno);
}

[[noreturn]] void refuse_stdout(int error) {
  throw Error(ExitStatus::unavailable, "stdout: " + errno_text(error));
}

constexpr std::size_t k_longest_answer = 4096;

// Returns what is typed before the end of the line.
std::string read_line() {
  std::string line;
  char c = 0;
  while (line.size() < k_longest_answer) {
    const ssize_t count = ::read(STDIN_FILENO, &c, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count != 1) {
      write_stderr("\n");
      return "";  // a line that was not finished is no answer
    }
    if (c == '\n') return line;
    line += c;
  }
  return "";
}

}  // namespace

void write_stderr(std::string_view text, Milliseconds patience) noexcept {
  write_parts({text}, patience);
}

void say(std::string_view text) noexcept {
  write_parts({"rlock: ", text, "\n"}, k_message_patience);
}

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
  const OwnSignals own;
  if (const int error = write_out(text)) {
    OwnSignals::take(error);
    refuse_stdout(error);
  }
}

bool can_ask() noexcept { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1; }

bool confirms(const std::string& question) {
  ::tcflush(STDIN_FILENO, TCIFLUSH);
  write_stderr("rlock: " + question + " [y/N] ");
  const std::string answer = read_line();
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace rlock::cli
