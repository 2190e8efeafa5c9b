#include "process/background.hpp"

#include <array>
#include <cerrno>
#include <exception>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "process/detach.hpp"

namespace rlock::process {
namespace {

constexpr char k_end = '\0';  // of a message: without it, it was not sent whole

[[noreturn]] void refuse(const char* what) {
  throw Error(ExitStatus::unavailable,
              std::string("no background process: ") + what + ": " + errno_text(errno));
}

// Returns the same descriptor with a number that is not one of the three that everybody uses: our
// caller may have left us without those.
Fd move_up(const Fd& fd) { return Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1)); }

// Returns nothing if there was none.
std::string receive(int fd) {
  std::string message;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    message.append(buffer.data(), static_cast<std::size_t>(got));
  }
  if (message.empty() || message.back() != k_end) return "";
  message.pop_back();
  return message;
}

void leave_caller(const Fd& one, const Fd& other) {
  rename_process(k_background_name, k_background_name);
  close_all_but(one.get(), other.get());
  const int null = ::open("/dev/null", O_RDWR);  // is 0: all below the two are closed
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fd != null) ::dup2(null, fd);
  }
  [[maybe_unused]] const int moved = ::chdir("/");
}

}  // namespace

Background::Background(const Fd& shared, const Work& work) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) refuse("pipe");
  Fd read_end = move_up(Fd(pipe[0]));
  life_line_ = move_up(Fd(pipe[1]));
  Fd kept = move_up(shared);
  if (!read_end.valid() || !life_line_.valid() || !kept.valid()) refuse("dup");

  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);  // no moment in which the new process takes a signal
  const pid_t pid = ::fork();
  if (pid != 0) {
    const int error = errno;
    int status = 0;
    while (pid > 0 && ::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    errno = pid < 0 ? error : WEXITSTATUS(status);
    if (errno != 0) refuse("fork");
    return;
  }
  ::setsid();
  life_line_.reset();
  // Before the second fork, which the caller waits for: from then on nothing of it is held.
  leave_caller(read_end, kept);
  // Of the session's leader a child, it can never get a terminal, and is nobody's to wait for.
  const pid_t child = ::fork();
  if (child != 0) ::_exit(child < 0 ? errno : 0);
  const std::string message = receive(read_end.get());
  read_end.reset();
  try {
    if (!message.empty()) work(message, std::move(kept));
  } catch (const std::exception&) {  // there is nobody to be told
  }
  ::_exit(0);
}

void Background::hand_over(const std::string& message) {
  std::string rest = message + k_end;
  while (!rest.empty()) {
    const ssize_t written = ::write(life_line_.get(), rest.data(), rest.size());
    if (written < 0 && errno != EINTR) refuse("it has ended");
    if (written > 0) rest.erase(0, static_cast<std::size_t>(written));
  }
  life_line_.reset();
}

}  // namespace rlock::process
