#include "cli/terminal/full_screen.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <string_view>

#include "base/error.hpp"
#include "base/text_width.hpp"

namespace rlock::cli {
namespace {

// Another screen, no cursor, and no line goes on in the next; and back.
constexpr std::string_view k_take = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view k_give_back = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr int k_patience_ms = 1000;

bool is_in_background() {
  const pid_t group = ::tcgetpgrp(STDOUT_FILENO);
  return group > 0 && group != ::getpgrp();
}

}  // namespace

// A background job of a script ignores SIGINT, although it is in the foreground process group.
bool FullScreen::has_keys() noexcept {
  struct sigaction interrupt {};
  return ::tcgetpgrp(STDIN_FILENO) > 0 && ::tcgetpgrp(STDOUT_FILENO) > 0 &&
         ::sigaction(SIGINT, nullptr, &interrupt) == 0 && interrupt.sa_handler != SIG_IGN;
}

bool FullScreen::is_possible() {
  const char* terminal = std::getenv("TERM");
  const std::string_view kind = terminal == nullptr ? "" : terminal;
  return ::isatty(STDOUT_FILENO) == 1 && !kind.empty() && kind != "dumb";
}

// Returns what to write for it.
std::string FullScreen::take() {
  if (taken_ && !is_stale_) return "";
  // A description of our own: O_NONBLOCK on the shared one would be the shell's, too.
  if (!fd_.valid()) {
    fd_ = Fd(::open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  }
  if (!taken_) has_modes_ = ::tcgetattr(STDOUT_FILENO, &modes_) == 0;
  if (has_modes_) {
    // What is typed must not be written over the screen.
    termios silent = modes_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    if (has_keys_) {  // each by itself, and a read never waits for one
      silent.c_lflag &= ~static_cast<tcflag_t>(ICANON);
      silent.c_cc[VMIN] = silent.c_cc[VTIME] = 0;
    }
    ::tcsetattr(STDOUT_FILENO, TCSANOW, &silent);
  }
  taken_ = true;
  is_stale_ = false;
  return std::string(k_take);
}

void FullScreen::draw(const std::vector<std::string>& lines, const TerminalSize& size) {
  if (is_in_background()) {
    refresh();
    return;
  }
  std::string frame = take() + "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) frame += "\r\n";
    frame += lines[i];
    // After a full line the cursor is still on its last character.
    if (display_width(lines[i]) < size.columns) frame += "\x1b[K";
  }
  if (lines.empty() || display_width(lines.back()) < size.columns) frame += "\x1b[J";
  rest_ = frame;
  go_on();
}

void FullScreen::go_on() {
  while (!rest_.empty()) {
    const ssize_t written = ::write(fd(), rest_.data(), rest_.size());
    if (written >= 0) {
      rest_.erase(0, static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      throw_errno("stdout");
    }
  }
}

int FullScreen::keys_fd() const noexcept {
  return has_keys_ && has_modes_ && taken_ && !is_stale_ ? STDIN_FILENO : -1;
}

bool FullScreen::is_pressed(char key) {
  if (is_in_background()) {  // what is typed there is not for us
    refresh();
    return false;
  }
  std::array<char, 64> keys{};
  const ssize_t got = ::read(STDIN_FILENO, keys.data(), keys.size());
  return got > 0 && std::find(keys.begin(), keys.begin() + got, key) != keys.begin() + got;
}

void FullScreen::leave() noexcept {
  if (!taken_) return;
  taken_ = false;
  rest_.clear();
  // A terminal that has been stopped (Ctrl-S) takes nothing.
  pollfd polled{STDOUT_FILENO, POLLOUT, 0};
  if (::poll(&polled, 1, k_patience_ms) == 1 && (polled.revents & POLLOUT) != 0) {
    [[maybe_unused]] const auto written = ::write(fd(), k_give_back.data(), k_give_back.size());
  }
  // In the background, the shell has set its own modes.
  if (!has_modes_ || is_in_background()) return;
  ::tcflush(STDOUT_FILENO, TCIFLUSH);
  ::tcsetattr(STDOUT_FILENO, TCSANOW, &modes_);
}

}  // namespace rlock::cli
