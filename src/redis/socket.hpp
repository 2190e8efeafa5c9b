// Connected sockets, with a bound on every wait.
#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "redis/url.hpp"

namespace rlock::redis {

// When to stop waiting. The wait is cancelled if `cancel_fd` (-1: none) becomes readable.
struct Deadline {
  TimePoint when;
  int cancel_fd = -1;
  Milliseconds span{0};   // the whole time from start to deadline, for messages; 0: not known
  const char* from = "";  // what sets this time, with a space in front: " (a tenth of the lease)"
};

// Returns "within 3s" and what sets this time, or "in time" if the span is not known.
[[nodiscard]] std::string in_time(const Deadline& deadline);

// Returns a deadline with the same span that starts now.
[[nodiscard]] Deadline again(const Deadline& deadline);

// Returns the first half of the time that `deadline` has left.
[[nodiscard]] Deadline half_of(const Deadline& deadline);

// Waits until `fd` is ready for `events` (POLLIN, POLLOUT). Returns false when the deadline has
// passed. Throws Interrupted.
[[nodiscard]] bool wait_for(int fd, short events, const Deadline& deadline);

// Sleeps until the deadline. Throws Interrupted.
void pause(const Deadline& deadline);

// Connects to a tcp endpoint. Tries every address of the name, each a moment after the previous
// one, and keeps the first connection that succeeds. Throws Unavailable, Interrupted.
[[nodiscard]] Fd connect_tcp(const Endpoint& endpoint, const Deadline& deadline);

// Returns all addresses of the host of a tcp endpoint, each as a number in one spelling. Throws
// Unavailable, Interrupted.
[[nodiscard]] std::vector<std::string> addresses_of(const Endpoint& endpoint,
                                                    const Deadline& deadline);

// Connects to a Unix socket. Throws Unavailable, Interrupted.
[[nodiscard]] Fd connect_unix(const std::string& path, const Deadline& deadline);

}  // namespace rlock::redis
