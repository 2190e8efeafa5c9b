// Patience with a server that does not answer.
#pragma once

#include <functional>
#include <optional>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace rlock::lock {

inline constexpr Milliseconds k_longest_outage{60'000};

// One outage after another: the server is asked again, less and less often, for so long at the
// most. That time begins again when servers say that they have just started.
class Outage {
 public:
  // Nothing is borne after `deadline`. `on_begin` is called with the first failure of each outage.
  Outage(TimePoint deadline, std::function<void(const Error&)> on_begin,
         Milliseconds longest = k_longest_outage);

  // The server has answered.
  void over();

  // To be called while `error` is handled: sleeps before the next attempt. Throws `error` again if
  // it is not temporary, or when it is time to give up; Interrupted when `wake_fd` (-1: none)
  // becomes readable.
  void bear(const Error& error, int wake_fd);

 private:
  TimePoint deadline_;
  std::function<void(const Error&)> on_begin_;
  Milliseconds longest_;
  std::optional<TimePoint> until_;
  Milliseconds pause_;
};

}  // namespace rlock::lock
