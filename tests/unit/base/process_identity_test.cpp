#include "base/process_identity.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

using rlock::is_running;
using rlock::is_this_or_above;
using rlock::process_identity;

TEST_CASE("a process that runs is known as itself") {
  const std::string identity = process_identity(::getpid());
  CHECK_FALSE(identity.empty());
  CHECK(is_running(::getpid(), identity) == true);
}

TEST_CASE("a process that has ended does not run, also while nobody has reaped it") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const std::string identity = process_identity(child);
  CHECK(is_running(child, identity) == true);
  ::kill(child, SIGKILL);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  CHECK(is_running(child, identity) == false);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(is_running(child, identity) == false);
}

TEST_CASE("another process with the same number is not the one that was meant") {
  const std::string identity = process_identity(::getpid());
  CHECK(is_running(::getpid(), identity + "1") == false);
}

TEST_CASE("of another machine, boot or container nothing is known") {
  const std::string identity = process_identity(::getpid());
  CHECK(is_running(::getpid(), "") == std::nullopt);
  CHECK(is_running(::getpid(), "x" + identity) == std::nullopt);
  CHECK(is_running(0, identity) == std::nullopt);
  CHECK(is_running(-1, identity) == std::nullopt);
}

TEST_CASE("this process, its parent and the parent of that are this or above, a child is not") {
  const pid_t parent = ::getppid();
  const std::string self = process_identity(::getpid());
  CHECK(is_this_or_above(parent, process_identity(parent)));
  CHECK_FALSE(is_this_or_above(parent, self + "1"));
  CHECK(is_this_or_above(::getpid(), self));
  const pid_t child = ::fork();
  if (child == 0) {
    const bool knows = is_this_or_above(::getppid(), process_identity(::getppid())) &&
                       is_this_or_above(parent, process_identity(parent));
    ::_exit(knows ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
