#include "base/error.hpp"

#include <cerrno>
#include <new>
#include <system_error>

namespace rlock {

Error to_error(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) {
    return {ExitStatus::unavailable, "out of memory"};
  }
  // Who could do without the thread has caught it.
  if (dynamic_cast<const std::system_error*>(&exception) != nullptr) {
    return {ExitStatus::unavailable, std::string("cannot start a thread: ") + exception.what()};
  }
  return {ExitStatus::internal, std::string("internal error: ") + exception.what()};
}

bool is_resource_exhausted(int errno_value) noexcept {
  return errno_value == EMFILE || errno_value == ENFILE || errno_value == ENOMEM;
}

std::string errno_text(int errno_value) { return std::generic_category().message(errno_value); }

void throw_errno(const char* what) {
  const std::string why = errno_text(errno);
  throw Error(ExitStatus::unavailable, std::string(what) + ": " + why);
}

}  // namespace rlock
