#include "process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "contents.hpp"
#include "net.hpp"
#include "wait_until.hpp"

namespace rlock::test {
namespace {

// write(2) to a pipe without SIGPIPE for this process: blocked, and taken away again when it came.
ssize_t write_quietly(int fd, std::string_view text) {
  sigset_t pipe_only;
  sigset_t before;
  sigset_t pending;
  ::sigemptyset(&pipe_only);
  ::sigaddset(&pipe_only, SIGPIPE);
  ::sigpending(&pending);
  ::pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
  const ssize_t put = ::write(fd, text.data(), text.size());
  const int error = errno;
  if (put < 0 && error == EPIPE && ::sigismember(&pending, SIGPIPE) == 0) {
    const timespec at_once{};
    ::sigtimedwait(&pipe_only, nullptr, &at_once);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return put;
}

std::pair<UniqueFd, UniqueFd> new_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

SpawnPlan make_plan(std::vector<std::string> argv, const ProcessOptions& options) {
  SpawnPlan plan;
  plan.argv = std::move(argv);
  plan.env = options.env;
  plan.cwd = options.cwd;
  plan.own_group = options.own_group;
  plan.die_with_test = options.die_with_test;
  plan.ignore_signals = options.ignore_signals;
  return plan;
}

void drain(UniqueFd& fd, std::string& into) {
  IoState state = IoState::done;
  while (fd && state == IoState::done) {
    state = read_some(fd.get(), into);
    if (state == IoState::closed) {
      fd.reset();
    }
  }
}

}  // namespace

struct Process::Pipes {
  std::pair<UniqueFd, UniqueFd> in, out, err;
  explicit Pipes(bool with_input) : out(new_pipe()), err(new_pipe()) {
    if (with_input) {
      in = new_pipe();
      set_nonblocking(in.second.get());
    }
    set_nonblocking(out.first.get());
    set_nonblocking(err.first.get());
  }
  SpawnPlan connect(SpawnPlan plan) const {
    plan.in = in.first.get();
    plan.out = out.second.get();
    plan.err = err.second.get();
    return plan;
  }
};

Process::Process(std::vector<std::string> argv, const ProcessOptions& options)
    : Process(Pipes(options.stdin_text.has_value() || options.hold_stdin), std::move(argv),
              options) {}

Process::Process(Pipes pipes, std::vector<std::string> argv, const ProcessOptions& options)
    : name_(argv.empty() ? "" : argv.front()),
      in_(std::move(pipes.in.second)),
      out_fd_(std::move(pipes.out.first)),
      err_fd_(std::move(pipes.err.first)),
      pending_(options.stdin_text.value_or("")),
      hold_stdin_(options.hold_stdin),
      child_(pipes.connect(make_plan(std::move(argv), options))) {
  feed_stdin();
}

bool Process::running() {
  pump(0);
  return child_.running();
}

void Process::write_stdin(std::string_view text) {
  pending_ += text;
  feed_stdin();
}

void Process::close_stdin() {
  hold_stdin_ = false;
  feed_stdin();
}

void Process::feed_stdin() {
  while (in_ && !pending_.empty()) {
    const ssize_t put = write_quietly(in_.get(), pending_);
    if (put < 0 && errno == EAGAIN) {
      return;
    }
    if (put < 0) {
      in_.reset();
      return;
    }
    pending_.erase(0, static_cast<std::size_t>(put));
  }
  if (!hold_stdin_) {
    in_.reset();
  }
}

// Moves bytes; waits at most wait_ms for something to move.
void Process::pump(int wait_ms) {
  std::array<pollfd, 3> fds{
      {{out_fd_.get(), POLLIN, 0}, {err_fd_.get(), POLLIN, 0}, {-1, POLLOUT, 0}}};
  fds[2].fd = pending_.empty() ? -1 : in_.get();
  ::poll(fds.data(), fds.size(), wait_ms);
  drain(out_fd_, out_);
  drain(err_fd_, err_);
  feed_stdin();
}

Result Process::wait_for(bool streams_too, std::chrono::milliseconds bound) {
  const Deadline deadline(bound);
  // The order matters: what was written before the end is in the pipe after running() is false.
  bool ended = false;
  while (!(ended = !child_.running()) || (streams_too && (out_fd_ || err_fd_))) {
    if (deadline.passed()) {
      const bool left = ended;
      child_.end();
      pump(0);
      fail(left ? "ended, but a child keeps its stdout or stderr open"
                : "did not end in time, killed");
    }
    // The end of the process itself wakes no poll: look again soon once the streams are at their
    // end.
    pump(deadline.left_ms(out_fd_ || err_fd_ ? 5 : 1));
  }
  pump(0);
  Result result = child_.result();
  result.out = out_;
  result.err = err_;
  return result;
}

Result Process::wait(std::chrono::milliseconds bound) { return wait_for(true, bound); }

Result Process::wait_exit(std::chrono::milliseconds bound) { return wait_for(false, bound); }

void Process::wait_for_stdout(std::string_view text, std::chrono::milliseconds bound) {
  wait_text(out_, out_fd_, text, bound);
}

void Process::wait_for_stderr(std::string_view text, std::chrono::milliseconds bound) {
  wait_text(err_, err_fd_, text, bound);
}

void Process::wait_text(const std::string& stream, const UniqueFd& fd, std::string_view text,
                        std::chrono::milliseconds bound) {
  const Deadline deadline(bound);
  pump(0);
  while (stream.find(text) == std::string::npos) {
    if (!fd || deadline.passed()) {
      fail((fd ? "did not write in time: " : "ended without writing: ") + std::string(text));
    }
    pump(deadline.left_ms(100));
  }
}

void Process::fail(const std::string& what) {
  throw std::runtime_error(name_ + " (pid " + std::to_string(pid()) + ") " + what +
                           "\n--- stdout\n" + out_ + "\n--- stderr\n" + err_);
}

Result run(std::vector<std::string> argv, const ProcessOptions& options,
           std::chrono::milliseconds bound) {
  return Process(std::move(argv), options).wait(bound);
}

bool is_one_message(std::string_view text) {
  return text.starts_with("rlock: ") && text.ends_with('\n') &&
         std::count(text.begin(), text.end(), '\n') == 1;
}

std::string rlock_program() {
  const char* chosen = std::getenv("RLOCK_TEST_PROGRAM");
#ifdef RLOCK_PROGRAM
  return chosen != nullptr ? chosen : RLOCK_PROGRAM;
#else
  return chosen != nullptr ? chosen : "rlock";
#endif
}

bool is_sanitized() {
  static const bool has_sanitizer = [] {
    const std::string symbols = contents(rlock_program());
    return symbols.find("__asan_init") != std::string::npos ||
           symbols.find("__tsan_init") != std::string::npos;
  }();
  return has_sanitizer;
}

}  // namespace rlock::test
