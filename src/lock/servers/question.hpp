// What the server is asked about a lock, in a script.
#pragma once

#include "base/clock.hpp"
#include "lock/servers/outage.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

// How long a request may be under way after its client has closed the connection.
inline constexpr Milliseconds k_longest_way{30'000};

// Whether those who wait are told that the lock is free.
enum class Wake { no, yes };

// Returns how long the server remembers a request: as long as `client` may send it again, or what
// takes it back, and until the last of that has arrived. The first and the last request take its
// timeout each, and between them lies an outage at the most.
[[nodiscard]] inline Milliseconds memory_of(const redis::Client& client) {
  return 2 * client.options().timeout + k_longest_outage + k_longest_way;
}

}  // namespace rlock::lock
