#include "base/fd.hpp"

#include <array>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

using rlock::after;
using rlock::BootClock;
using rlock::Event;
using rlock::Milliseconds;
using rlock::poll_until;

TEST_CASE("poll_until: more descriptors may be polled than a limit allows that came later") {
  const Event quiet;
  const Event raised;
  raised.raise();
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{0, 0};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    std::array<pollfd, 3> polled = {
        {{quiet.fd(), POLLIN, 0}, {-1, POLLIN, 0}, {raised.fd(), POLLIN, 0}}};
    const int ready = poll_until(polled, after(BootClock::now(), Milliseconds(10'000)));
    const bool is_right = ready == 1 && polled[0].revents == 0 && polled[2].revents == POLLIN;
    // Without one that is ready, the time passes.
    std::array<pollfd, 1> none = {{{quiet.fd(), POLLIN, 0}}};
    const auto until = after(BootClock::now(), Milliseconds(20));
    const bool has_waited = poll_until(none, until) == 0 && BootClock::now() >= until;
    ::_exit(is_right && has_waited ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
