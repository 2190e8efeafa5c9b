// A file descriptor with one owner, and the kinds of descriptor that wake a poll().
#pragma once

#include <poll.h>
#include <span>
#include <utility>

#include "base/clock.hpp"

namespace rlock {

// Owns a descriptor and closes it. -1 means none.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) noexcept : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
  void reset() noexcept;

 private:
  int fd_ = -1;
};

// poll() that goes on after a signal or a lack of memory. Returns how many are ready, 0 at `until`.
[[nodiscard]] int poll_until(std::span<pollfd> polled, TimePoint until) noexcept;

// Returns which of `events`, POLLERR and POLLHUP are present now, without waiting. Tries again
// after a signal, and while the kernel has no memory for poll().
[[nodiscard]] short poll_now(const Fd& fd, short events) noexcept;

// A descriptor that becomes readable when `raise` is called, and stays readable until `clear`.
// Thread-safe. The constructor throws Error if the system has no descriptor left.
class Event {
 public:
  Event();
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  void raise() const noexcept;
  void clear() const noexcept;

 private:
  Fd fd_;
};

// A descriptor that becomes readable at a moment of BootClock, which also counts the time while the
// machine is suspended. The constructor throws Error if the system has no descriptor left.
class Alarm {
 public:
  Alarm();
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  // Rings at `when`, or at once if `when` has passed. TimePoint::max() means never.
  void set(TimePoint when) const noexcept;
  // Returns true once for each moment that came before `set` changed it.
  [[nodiscard]] bool has_rung() const noexcept;

 private:
  Fd fd_;
};

// Returns a descriptor that is readable while one of the two is readable, for code that can wait
// for one descriptor only. Throws Error if the system has no descriptor left.
[[nodiscard]] Fd either(int one, int other);

}  // namespace rlock
