// Terms of a request about a lock that a script answers.
#pragma once

#include "base/clock.hpp"
#include "lock/servers/outage_retry.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

// How long a request may still be under way after its client has closed the connection.
inline constexpr Milliseconds k_longest_way{30'000};

// Whether the script tells the waiters that the lock is free.
enum class Wake { no, yes };

// Returns how long the server must remember a request: as long as `client` may send the request, or
// the release that undoes it, again, and until the last of these has arrived. The first and the
// last request take up to one timeout each. Between them lies one outage at most.
[[nodiscard]] inline Milliseconds memory_of(const redis::Client& client) {
  return 2 * client.options().timeout + k_longest_outage + k_longest_way;
}

}  // namespace rlock::lock
