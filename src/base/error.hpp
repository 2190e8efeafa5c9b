// The exception for a broken world: a message for the user and the status to exit with.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>

#include "base/exit_status.hpp"

namespace rlock {

// What an operation could not do, as `what: why`, without the leading "rlock: ".
class Error : public std::runtime_error {
 public:
  Error(ExitStatus status, const std::string& message)
      : std::runtime_error(message), status_(status) {}

  [[nodiscard]] ExitStatus status() const noexcept { return status_; }
  // True if the same may succeed later without anybody changing the configuration.
  [[nodiscard]] bool is_temporary() const noexcept { return status_ == ExitStatus::unavailable; }

 private:
  ExitStatus status_;
};

// Returns what to tell the user of any exception: unavailable where there was no memory or no
// thread to be had, internal for one that nobody expected.
[[nodiscard]] Error to_error(const std::exception& exception);

// Returns whether a system call has failed for want of descriptors or memory: nothing is wrong with
// what was asked of it.
[[nodiscard]] bool is_lack(int errno_value) noexcept;

// Returns the operating system's text for `errno_value`.
[[nodiscard]] std::string errno_text(int errno_value);

}  // namespace rlock
