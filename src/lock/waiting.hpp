// Waiting for a lock: asleep on a subscription, and never for long without asking again.
#pragma once

#include <functional>
#include <optional>

#include "lock/reentrant.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

struct WaitOptions {
  TimePoint deadline;  // give up then; a time that is past means do not wait
  // Called about once a second while waiting, and with each new holder.
  std::function<void(const Busy&)> on_wait = [](const Busy&) {};
  // Called when the server stops answering while we wait; it is asked again.
  std::function<void(const Error&)> on_outage = [](const Error&) {};
  // Called with who has the lock when the deadline has passed.
  std::function<void(const Busy&)> on_refusal = [](const Busy&) {};
};

// Takes `lock`, waiting for it if need be. Returns nothing if it was not free by the deadline.
// While it waits it survives a restart of the server and an outage of up to a minute.
// Leaves nothing behind when it does not succeed. Throws as ReentrantLock::try_acquire, and
// Interrupted when the client's wake descriptor becomes readable.
[[nodiscard]] std::optional<Lease> wait_for_lock(ReentrantLock& lock, redis::Client& client,
                                                 const WaitOptions& options);

// Returns how long to sleep before asking again although no message has come: until the lease that
// was seen ends, at most 5 s and a little, in which `spread` (0 to 999) sets the waiters apart.
[[nodiscard]] Milliseconds sleep_bound(std::optional<Milliseconds> ttl, unsigned spread);

}  // namespace rlock::lock
