#include "base/fd.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/error.hpp"

namespace rlock {
namespace {

Fd checked(int fd, const char* what) {
  if (fd < 0) {
    throw Error(ExitStatus::unavailable, std::string(what) + ": " + errno_text(errno));
  }
  return Fd(fd);
}

}  // namespace

void Fd::reset() noexcept {
  if (fd_ >= 0) {
    ::close(fd_);
    fd_ = -1;
  }
}

Event::Event() : fd_(checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")) {}

void Event::raise() const noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(fd_.get(), &one, sizeof one);
}

void Event::clear() const noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(fd_.get(), &count, sizeof count);
}

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

bool Alarm::has_rung() const noexcept {
  std::uint64_t count = 0;
  return ::read(fd_.get(), &count, sizeof count) > 0;
}

Either::Either(int one, int other) : fd_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll")) {
  for (const int fd : {one, other}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(fd_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      throw Error(ExitStatus::unavailable, "epoll: " + errno_text(errno));
    }
  }
}

}  // namespace rlock
