#include "base/fd.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <thread>
#include <unistd.h>

#include "base/error.hpp"

namespace rlock {
namespace {

constexpr Milliseconds k_pause_without_memory{10};

// Returns the count of an eventfd or a timerfd, and resets it. 0: nothing happened since.
std::uint64_t take_count(const Fd& fd) noexcept {
  std::uint64_t count = 0;
  while (::read(fd.get(), &count, sizeof count) < 0 && errno == EINTR) {
  }
  return count;
}

Fd checked(int fd, const char* what) {
  if (fd < 0) throw_errno(what);
  return Fd(fd);
}

// poll(), also of more descriptors than RLIMIT_NOFILE allows. Somebody may have lowered it since
// they were opened, and poll() then fails (EINVAL). Errors of a descriptor without events are not
// seen then, nor are descriptors of 1024 and more.
int poll_some(std::span<pollfd> polled, int timeout_ms) noexcept {
  const int done = ::poll(polled.data(), polled.size(), timeout_ms);
  if (done >= 0 || errno != EINVAL) return done;
  fd_set readable;
  fd_set writable;
  FD_ZERO(&readable);
  FD_ZERO(&writable);
  const auto is_fit = [](const pollfd& one) { return one.fd >= 0 && one.fd < FD_SETSIZE; };
  for (const pollfd& one : polled) {
    if (is_fit(one) && (one.events & POLLIN) != 0) FD_SET(one.fd, &readable);
    if (is_fit(one) && (one.events & POLLOUT) != 0) FD_SET(one.fd, &writable);
  }
  timeval timeout{timeout_ms / 1000, timeout_ms % 1000 * suseconds_t{1000}};
  const int ready =
      ::select(FD_SETSIZE, &readable, &writable, nullptr, timeout_ms < 0 ? nullptr : &timeout);
  for (pollfd& one : polled) {
    one.revents = 0;
    if (ready <= 0 || !is_fit(one)) continue;
    if (FD_ISSET(one.fd, &readable)) one.revents |= POLLIN;
    if (FD_ISSET(one.fd, &writable)) one.revents |= POLLOUT;
  }
  return ready;
}

}  // namespace

void Fd::reset() noexcept {
  if (fd_ >= 0) {
    ::close(fd_);
    fd_ = -1;
  }
}

int poll_until(std::span<pollfd> polled, TimePoint until) noexcept {
  while (true) {
    const int ready = poll_some(polled, poll_timeout(until));
    if (ready > 0) return ready;
    const int error = ready < 0 ? errno : EINTR;
    if (BootClock::now() >= until) return 0;
    if (error == EINTR) continue;
    std::this_thread::sleep_for(k_pause_without_memory);
  }
}

short poll_now(const Fd& fd, short events) noexcept {
  pollfd polled{fd.get(), events, 0};
  while (poll_some({&polled, 1}, 0) < 0) {
    if (errno != EINTR) std::this_thread::sleep_for(k_pause_without_memory);
  }
  return polled.revents;
}

Event::Event() : fd_(checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")) {}

void Event::raise() const noexcept {
  const std::uint64_t one = 1;
  while (::write(fd_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void Event::clear() const noexcept { take_count(fd_); }

Alarm::Alarm()
    : fd_(checked(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd")) {}

void Alarm::set(TimePoint when) const noexcept {
  itimerspec spec{};
  if (when != TimePoint::max()) {
    const auto count = std::max<std::int64_t>(when.time_since_epoch().count(), 1);
    spec.it_value.tv_sec = static_cast<time_t>(count / 1'000'000'000);
    spec.it_value.tv_nsec = static_cast<long>(count % 1'000'000'000);
  }
  ::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

bool Alarm::has_rung() const noexcept { return take_count(fd_) > 0; }

Fd either(int one, int other) {
  Fd both = checked(::epoll_create1(EPOLL_CLOEXEC), "epoll");
  for (const int fd : {one, other}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(both.get(), EPOLL_CTL_ADD, fd, &event) != 0) throw_errno("epoll");
  }
  return both;
}

}  // namespace rlock
