// Connected sockets, with a bound on every wait.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "redis/url.hpp"

namespace rlock::redis {

// How long to wait, and what ends the wait early: `wake_fd` (-1: none) becoming readable.
struct Patience {
  TimePoint deadline;
  int wake_fd = -1;
  Milliseconds span{0};   // the whole time that there was, for messages; 0: not known
  const char* from = "";  // what the user can change to make that longer, such as " (--timeout)"
};

// Returns "within 3s (--timeout)", or "in time" where the span is not known.
[[nodiscard]] std::string in_time(const Patience& patience);

// Returns the same span, from now on.
[[nodiscard]] Patience again(const Patience& patience);

// Returns the first half of the time that `patience` has left.
[[nodiscard]] Patience half_of(const Patience& patience);

// Waits until `fd` is ready for `events` (POLLIN, POLLOUT). Returns false when the deadline has
// passed. Throws Interrupted.
[[nodiscard]] bool wait_for(int fd, short events, const Patience& patience);

// Sleeps until the deadline. Throws Interrupted.
void pause(const Patience& patience);

// Connects to a tcp endpoint; tries every address of the name, each a moment after the one before,
// and keeps the first that answers. Throws Unavailable, Interrupted.
[[nodiscard]] Fd connect_tcp(const Endpoint& endpoint, const Patience& patience);

// Connects to a Unix socket. Throws Unavailable, Interrupted.
[[nodiscard]] Fd connect_unix(const std::string& path, const Patience& patience);

}  // namespace rlock::redis
