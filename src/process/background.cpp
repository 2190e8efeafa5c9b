#include "process/background.hpp"

#include <array>
#include <cerrno>
#include <exception>
#include <fcntl.h>
#include <optional>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "process/detach.hpp"

namespace rlock::process {
namespace {

constexpr char k_end = '\0';          // of a message: without it, it was not sent whole
constexpr timeval k_patience{30, 0};  // with a process that may have been stopped

[[noreturn]] void give_up(const std::string& why) {
  throw Error(ExitStatus::unavailable, "no background process: " + why);
}

// Returns false if nobody can read it any longer.
bool send_message(const Fd& line, const std::string& message) {
  std::string rest = message + k_end;
  while (!rest.empty()) {
    const ssize_t sent = ::send(line.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return false;
    if (sent > 0) rest.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

// Returns nothing if there was none.
std::optional<std::string> receive_message(const Fd& line) {
  std::string message;
  std::array<char, 4096> buffer{};
  while (message.empty() || message.back() != k_end) {
    const ssize_t got = ::read(line.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    message.append(buffer.data(), static_cast<std::size_t>(got));
  }
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
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    give_up("socketpair: " + errno_text(errno));
  }
  line_ = Fd(ends[0]);
  Fd line(ends[1]);
  ::setsockopt(line_.get(), SOL_SOCKET, SO_RCVTIMEO, &k_patience, sizeof k_patience);

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
    const int failure = pid < 0 ? error : WEXITSTATUS(status);
    if (failure != 0) give_up("fork: " + errno_text(failure));
    return;
  }
  ::setsid();
  line_.reset();
  // Before the second fork, which the caller waits for: from then on nothing of it is held.
  leave_caller(line, shared);
  // Of the session's leader a child, it can never get a terminal, and is nobody's to wait for.
  const pid_t child = ::fork();
  if (child != 0) ::_exit(child < 0 ? errno : 0);
  const auto answer = [&](const std::string& failure) {
    send_message(line, failure);
    line.reset();
  };
  try {
    if (const auto message = receive_message(line)) work(*message, [&] { answer(""); });
  } catch (const std::exception& error) {
    if (line.valid()) answer(to_error(error).what());  // later, nobody waits for an answer
  }
  ::_exit(0);
}

void Background::hand_over(const std::string& message) {
  const bool sent = send_message(line_, message);
  const auto failure = sent ? receive_message(line_) : std::nullopt;
  line_.reset();
  if (!failure) give_up("it does not answer");
  if (!failure->empty()) give_up(*failure);
}

}  // namespace rlock::process
