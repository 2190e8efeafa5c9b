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
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
  void reset() noexcept;

 private:
  int fd_ = -1;
};

// poll() that goes on after a signal, and while the kernel has no memory for it. Returns how many
// are ready, or 0 when `until` has come.
[[nodiscard]] int poll_until(std::span<pollfd> polled, TimePoint until) noexcept;

// Returns which of `events` there are now, with POLLERR and POLLHUP: poll() that does not wait, and
// is asked again after a signal, and while the kernel has no memory for it.
[[nodiscard]] short poll_now(const Fd& fd, short events) noexcept;

// A descriptor that becomes readable once `raise` was called and stays so until `clear`.
// Thread-safe. Throws Error from the constructor when the system has no descriptor left.
class Event {
 public:
  Event();
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  void raise() const noexcept;
  void clear() const noexcept;

 private:
  Fd fd_;
};

// A descriptor that becomes readable at a time of the boot clock, so that time which the machine
// spent suspended counts. Throws Error from the constructor.
class Alarm {
 public:
  Alarm();
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  // Rings at `when`; at once if that is past. TimePoint::max() means never.
  void set(TimePoint when) const noexcept;
  // Returns true once for each time that has come and has not been moved since.
  [[nodiscard]] bool has_rung() const noexcept;

 private:
  Fd fd_;
};

// A descriptor that is readable as long as one of two is, for who can wait for one only. Throws
// Error from the constructor.
class Either {
 public:
  Either(int one, int other);
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  Fd fd_;
};

}  // namespace rlock
