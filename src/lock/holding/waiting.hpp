// Waiting for a lock: asleep on a subscription, and never for long without asking again.
#pragma once

#include <functional>
#include <optional>

#include "lock/kinds/lock.hpp"

namespace rlock::lock {

struct WaitOptions {
  TimePoint deadline;                       // give up then; a time that is past means do not wait
  TimePoint patience = TimePoint::max();    // or then, unless the server does not answer
  TimePoint outage_end = TimePoint::max();  // an outage is borne until then; its error is thrown
  bool server_was_there = false;  // before: then the first request, too, survives an outage
  // Called about once a second while waiting, and with each new holder.
  std::function<void(const Busy&)> on_wait = [](const Busy&) {};
  // Called when the server stops answering while we wait; it is asked again.
  std::function<void(const Error&)> on_outage = [](const Error&) {};
  // Called when the deadline has passed; returns whether to ask once more.
  std::function<bool(const Busy&)> doubts = [](const Busy&) { return false; };
  // Called with who has the lock when the deadline has passed.
  std::function<void(const Busy&)> on_refusal = [](const Busy&) {};
};

// Takes `lock`, waiting for it if need be. Returns nothing if it was not free by the deadline.
// While it waits it survives a restart of the server and an outage of up to a minute; before, it
// does not, unless the server was there.
// Leaves nothing behind when it does not succeed. Throws as Lock::try_acquire, and
// Interrupted when the session's wake descriptor becomes readable.
[[nodiscard]] std::optional<Hold> wait_for_lock(Lock& lock, Session& session,
                                                const WaitOptions& options);

// Returns how long to sleep before asking again although no message has come: until the lease that
// was seen ends, at most 5 s and a little, in which `spread` (0 to 999) sets the waiters apart.
[[nodiscard]] Milliseconds sleep_bound(std::optional<Milliseconds> ttl, unsigned spread);

}  // namespace rlock::lock
