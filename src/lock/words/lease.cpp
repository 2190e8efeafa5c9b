#include "lock/words/lease.hpp"

#include <algorithm>

namespace rlock::lock {

TimePoint lease_deadline(TimePoint asked, Milliseconds length) {
  return asked + length - Nanoseconds(length) / 100 - Milliseconds(2);
}

TimePoint kill_time(TimePoint deadline, Milliseconds length) {
  return deadline - std::min<Nanoseconds>(Milliseconds(300), Nanoseconds(length) / 20);
}

TimePoint last_moment(TimePoint deadline, Milliseconds length, Milliseconds reserve) {
  return kill_time(deadline, length) - reserve;
}

}  // namespace rlock::lock
