#include "base/error.hpp"

#include <cerrno>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include <doctest/doctest.h>

using rlock::errno_text;
using rlock::Error;
using rlock::ExitStatus;

TEST_CASE("an error carries its message and its status") {
  const Error error(ExitStatus::config, "rlock.toml: cannot be read");
  CHECK(std::string(error.what()) == "rlock.toml: cannot be read");
  CHECK(error.status() == ExitStatus::config);
}

TEST_CASE("errno_text is the system's text") {
  CHECK(errno_text(ENOENT) == "No such file or directory");
  CHECK(errno_text(ECONNREFUSED) == "Connection refused");
  CHECK_FALSE(errno_text(123456).empty());
}

TEST_CASE("an exception that is no Error is a lack of memory or threads, or a bug") {
  const Error known(ExitStatus::lost, "job: lock lost");
  CHECK(rlock::to_error(known).status() == ExitStatus::lost);
  CHECK(std::string(rlock::to_error(known).what()) == "job: lock lost");
  CHECK(rlock::to_error(std::bad_alloc()).status() == ExitStatus::unavailable);
  const std::system_error no_thread(EAGAIN, std::generic_category());
  CHECK(rlock::to_error(no_thread).status() == ExitStatus::unavailable);
  CHECK(rlock::to_error(std::logic_error("oops")).status() == ExitStatus::internal);
}

TEST_CASE("exit statuses are a published contract") {
  CHECK(static_cast<int>(ExitStatus::ok) == 0);
  CHECK(static_cast<int>(ExitStatus::not_held) == 1);
  CHECK(static_cast<int>(ExitStatus::usage) == 64);
  CHECK(static_cast<int>(ExitStatus::unavailable) == 69);
  CHECK(static_cast<int>(ExitStatus::internal) == 70);
  CHECK(static_cast<int>(ExitStatus::not_acquired) == 75);
  CHECK(static_cast<int>(ExitStatus::wrong_kind) == 76);
  CHECK(static_cast<int>(ExitStatus::permission) == 77);
  CHECK(static_cast<int>(ExitStatus::config) == 78);
  CHECK(static_cast<int>(ExitStatus::lost) == 79);
  CHECK(static_cast<int>(ExitStatus::timed_out) == 124);
  CHECK(static_cast<int>(ExitStatus::not_executable) == 126);
  CHECK(static_cast<int>(ExitStatus::not_found) == 127);
  CHECK(static_cast<int>(ExitStatus::signal_base) == 128);
}
