// The moments that matter before a lease ends.
#pragma once

#include "base/clock.hpp"

namespace rlock::lock {

inline constexpr Milliseconds k_default_lease{30'000};
inline constexpr Milliseconds k_shortest_lease{100};

// Returns until when a lease of `length` is safe that was asked for at `asked`, a time read before
// the request was written: less 1 % for clocks that differ in speed, and 2 ms for the server's
// resolution of time.
[[nodiscard]] TimePoint lease_deadline(TimePoint asked, Milliseconds length);

// Returns when SIGKILL must be sent so that everything is dead before the lease's end.
[[nodiscard]] TimePoint kill_time(TimePoint deadline, Milliseconds length);

// Returns when to stop hoping for a renewal, so that there is `reserve` between SIGTERM and
// SIGKILL.
[[nodiscard]] TimePoint last_moment(TimePoint deadline, Milliseconds length, Milliseconds reserve);

}  // namespace rlock::lock
