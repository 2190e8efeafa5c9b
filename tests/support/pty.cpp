#include "pty.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <sys/ioctl.h>
#include <system_error>
#include <termios.h>
#include <unistd.h>
#include <utility>

#include "net.hpp"
#include "wait_until.hpp"

namespace rlock::test {
namespace {

void set_size(int fd, unsigned short columns, unsigned short rows) {
  winsize size{};
  size.ws_col = columns;
  size.ws_row = rows;
  if (::ioctl(fd, TIOCSWINSZ, &size) != 0) {
    throw std::system_error(errno, std::generic_category(), "TIOCSWINSZ");
  }
}

SpawnPlan make_plan(std::vector<std::string> argv, const PtyOptions& options, int slave) {
  SpawnPlan plan;
  plan.argv = std::move(argv);
  plan.env = options.env;
  plan.env.try_emplace("TERM", "xterm");
  plan.cwd = options.cwd;
  plan.in = plan.out = plan.err = slave;
  plan.own_session = true;
  return plan;
}

}  // namespace

struct Pty::Ends {
  UniqueFd master, slave;
  explicit Ends(const PtyOptions& options) : master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    std::array<char, 128> name{};
    if (!master || ::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0 ||
        ::ptsname_r(master.get(), name.data(), name.size()) != 0) {
      throw std::system_error(errno, std::generic_category(), "pty");
    }
    slave.reset(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!slave) {
      throw std::system_error(errno, std::generic_category(), name.data());
    }
    set_size(master.get(), options.columns, options.rows);
    set_nonblocking(master.get());
  }
};

Pty::Pty(std::vector<std::string> argv, const PtyOptions& options)
    : Pty(Ends(options), std::move(argv), options) {}

Pty::Pty(Ends ends, std::vector<std::string> argv, const PtyOptions& options)
    : name_(argv.empty() ? "" : argv.front()),
      master_(std::move(ends.master)),
      child_(make_plan(std::move(argv), options, ends.slave.get())) {}

void Pty::pump(int wait_ms) {
  if (!open_) {
    return;
  }
  pollfd waiting{master_.get(), POLLIN, 0};
  ::poll(&waiting, 1, wait_ms);
  IoState state = IoState::done;
  while ((state = read_some(master_.get(), output_)) == IoState::done) {
  }
  open_ = state != IoState::closed;  // EIO: nobody has the terminal open any more.
}

void Pty::type(std::string_view keys) {
  const Deadline deadline{std::chrono::seconds(10)};
  while (!keys.empty()) {
    const ssize_t put = ::write(master_.get(), keys.data(), keys.size());
    if (put > 0) {
      keys.remove_prefix(static_cast<std::size_t>(put));
      continue;
    }
    if (deadline.passed() || (put < 0 && errno != EAGAIN && errno != EINTR)) {
      fail("does not take keys");
    }
    pump(5);
  }
}

void Pty::expect(std::string_view text, std::chrono::milliseconds bound) {
  const Deadline deadline(bound);
  pump(0);
  std::size_t at = 0;
  while ((at = output_.find(text, seen_)) == std::string::npos) {
    if (!open_ || deadline.passed()) {
      fail((open_ ? "did not show in time: " : "ended without showing: ") + std::string(text));
    }
    pump(deadline.left_ms(100));
  }
  seen_ = at + text.size();
}

const std::string& Pty::output() {
  pump(0);
  return output_;
}

void Pty::resize(unsigned short columns, unsigned short rows) {
  set_size(master_.get(), columns, rows);
}

pid_t Pty::foreground() const { return ::tcgetpgrp(master_.get()); }

Result Pty::wait(std::chrono::milliseconds bound) {
  const Deadline deadline(bound);
  while (child_.running()) {
    if (deadline.passed()) {
      child_.end();
      pump(0);
      fail("did not end in time, killed");
    }
    pump(deadline.left_ms(5));
    if (!open_) {
      ::poll(nullptr, 0, 1);
    }
  }
  // The end of the session leader hangs the terminal up; what it wrote last may come a moment
  // later.
  const Deadline tail{std::chrono::seconds(5)};
  while (open_ && !tail.passed()) {
    pump(tail.left_ms(50));
  }
  Result result = child_.result();
  result.out = output_;
  return result;
}

void Pty::fail(const std::string& what) {
  throw std::runtime_error(name_ + " (pid " + std::to_string(pid()) + ") " + what +
                           "\n--- terminal\n" + output_);
}

}  // namespace rlock::test
