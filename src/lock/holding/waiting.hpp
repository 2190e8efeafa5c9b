// Waits for a lock: sleeps on a subscription, and asks again from time to time.
#pragma once

#include <functional>
#include <optional>

#include "lock/kinds/lock.hpp"

namespace rlock::lock {

struct WaitOptions {
  TimePoint deadline;                       // gives up then; a time in the past: does not wait
  TimePoint try_end = TimePoint::max();     // gives up then, too, unless the server is away
  TimePoint outage_end = TimePoint::max();  // an outage that lasts until then is an error
  // The server answered before: the first request survives an outage, too.
  bool server_was_there = false;
  // Called about once a second while waiting, and with each new holder.
  std::function<void(const Busy&)> on_wait = [](const Busy&) {};
  // Called when the server stops answering during the wait. The wait goes on.
  std::function<void(const Error&)> on_outage = [](const Error&) {};
  // Called when the time is up. Returns whether to ask once more.
  std::function<bool(const Busy&)> doubts = [](const Busy&) { return false; };
  // Called with the holder when the wait ends without the lock.
  std::function<void(const Busy&)> on_refusal = [](const Busy&) {};
};

// Takes `lock`, and waits for it if it is busy. Returns nothing if it was not free in time. While
// it waits, it survives a restart, and an outage of up to a minute. Before the first answer it does
// not, unless server_was_there. Leaves nothing on the server if it fails. Throws as
// Lock::try_acquire, and redis::Interrupted when the session's wake descriptor becomes readable.
[[nodiscard]] std::optional<Hold> wait_for_lock(Lock& lock, Session& session,
                                                const WaitOptions& options);

// Returns how long to sleep if no message comes: until the lease ends (`ttl`; nothing: no expiry),
// but at most 5 to 6 s. `spread` (0 to 999, random) keeps waiters from asking at the same moment.
[[nodiscard]] Milliseconds sleep_bound(std::optional<Milliseconds> ttl, unsigned spread);

}  // namespace rlock::lock
