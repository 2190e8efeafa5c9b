#include "cli/terminal/message.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <limits.h>
#include <optional>
#include <poll.h>
#include <span>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/fd.hpp"

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

// Waits until stdout accepts more. It is non-blocking where another process has made the open file
// so, which both share. Returns false if `cancel_fd`, unless negative, is readable first.
bool wait_for_stdout(int cancel_fd) noexcept {
  std::array<pollfd, 2> polled = {{{STDOUT_FILENO, POLLOUT, 0}, {cancel_fd, POLLIN, 0}}};
  (void)poll_until(polled, TimePoint::max());
  return polled[1].revents == 0;
}

// Returns what one write has written; 0 if stdout is non-blocking and full; -1 and errno.
ssize_t write_some(std::string_view text) noexcept {
  ssize_t written = 0;
  do {
    written = ::write(STDOUT_FILENO, text.data(), text.size());
  } while (written < 0 && errno == EINTR);
  return written < 0 && errno == EAGAIN ? 0 : written;
}

// Returns 0, or an errno. With a `cancel_fd`, writes only what does not block.
int write_out(std::string_view text, int cancel_fd = -1) noexcept {
  while (!text.empty()) {
    if (cancel_fd >= 0 && !wait_for_stdout(cancel_fd)) return ECANCELED;
    // A pipe that is ready takes PIPE_BUF bytes without blocking.
    const ssize_t written = write_some(cancel_fd >= 0 ? text.substr(0, PIPE_BUF) : text);
    if (written < 0) return errno;
    if (written == 0) wait_for_stdout(cancel_fd);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

constexpr Milliseconds k_message_limit{100};
// Of all messages; nothing: no limit. Set before threads are started.
std::optional<Milliseconds> message_limit;

// Writes in one write if stderr takes it so, and takes no memory. A message that nobody can read
// changes nothing else. `limit` begins again when a part has been written.
void write_parts(std::initializer_list<std::string_view> texts,
                 std::optional<Milliseconds> limit) noexcept {
  std::array<iovec, 3> parts{};
  std::size_t count = 0;
  for (const std::string_view text : texts) {
    parts[count++] = {const_cast<char*>(text.data()), text.size()};
  }
  const OwnSignals own;
  std::span<iovec> rest(parts.data(), count);
  while (!rest.empty()) {
    pollfd polled{STDERR_FILENO, POLLOUT, 0};
    const TimePoint until = limit ? after(BootClock::now(), *limit) : TimePoint::max();
    if (poll_until({&polled, 1}, until) == 0) return;
    const ssize_t written = ::writev(STDERR_FILENO, rest.data(), static_cast<int>(rest.size()));
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written < 0) return OwnSignals::take(errno);
    auto done = static_cast<std::size_t>(written);
    while (!rest.empty() && done >= rest.front().iov_len) {
      done -= rest.front().iov_len;
      rest = rest.subspan(1);
    }
    if (rest.empty()) return;
    rest.front() = {static_cast<char*>(rest.front().iov_base) + done, rest.front().iov_len - done};
  }
}

[[noreturn]] void refuse_stdout(int error) {
  throw Error(ExitStatus::unavailable, "stdout: " + errno_text(error));
}

[[noreturn]] void refuse_print(int error) {
  if (error == EPIPE) ::_exit(static_cast<int>(ExitStatus::signal_base) + SIGPIPE);
  refuse_stdout(error);
}

constexpr std::size_t k_longest_answer = 4096;

// Returns what is typed before the end of the line.
std::string read_line() {
  std::string line;
  char c = 0;
  while (line.size() < k_longest_answer) {
    const ssize_t count = ::read(STDIN_FILENO, &c, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      pollfd polled{STDIN_FILENO, POLLIN, 0};
      (void)poll_until({&polled, 1}, TimePoint::max());
      continue;
    }
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

void write_stderr(std::string_view text) noexcept { write_parts({text}, message_limit); }

void try_write_stderr(std::string_view text) noexcept { write_parts({text}, Milliseconds(0)); }

void say(std::string_view text) noexcept { write_parts({"rlock: ", text, "\n"}, message_limit); }

void limit_messages() noexcept { message_limit = k_message_limit; }

void end_if_unread() noexcept {
  pollfd polled{STDOUT_FILENO, 0, 0};
  // A socket, as sshd gives us, hangs up instead.
  if (::poll(&polled, 1, 0) == 1 && (polled.revents & (POLLERR | POLLHUP)) != 0) {
    ::_exit(static_cast<int>(ExitStatus::signal_base) + SIGPIPE);
  }
}

void print(std::string_view text) {
  if (const int error = write_out(text)) refuse_print(error);
}

std::size_t print_some(std::string_view text) {
  const ssize_t written = write_some(text.substr(0, PIPE_BUF));
  if (written < 0) refuse_print(errno);
  return static_cast<std::size_t>(written);
}

void print_or_throw(std::string_view text, int cancel_fd) {
  const OwnSignals own;
  if (const int error = write_out(text, cancel_fd)) {
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
