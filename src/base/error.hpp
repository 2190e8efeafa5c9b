// The exception for unexpected outcomes: a message for the user and the status to exit with.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>

#include "base/exit_status.hpp"

namespace rlock {

// The message says what failed and why, as `what: why`, without the leading "rlock: ".
class Error : public std::runtime_error {
 public:
  Error(ExitStatus status, const std::string& message)
      : std::runtime_error(message), status_(status) {}

  [[nodiscard]] ExitStatus status() const noexcept { return status_; }
  // Returns whether the operation may succeed later although nobody changes the configuration.
  [[nodiscard]] bool is_temporary() const noexcept { return status_ == ExitStatus::unavailable; }

 private:
  ExitStatus status_;
};

// Converts any exception to an Error. The status is `unavailable` if there was no memory or no
// thread, and `internal` for an exception that rlock does not know.
[[nodiscard]] Error to_error(const std::exception& exception);

// Returns whether a system call failed only for lack of descriptors or memory.
[[nodiscard]] bool is_resource_exhausted(int errno_value) noexcept;

// Returns the operating system's text for `errno_value`.
[[nodiscard]] std::string errno_text(int errno_value);

// Throws Error (unavailable) after a system call has failed: `what`, and why, as errno tells.
[[noreturn]] void throw_errno(const char* what);

}  // namespace rlock
