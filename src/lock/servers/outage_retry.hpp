// Retries with a server that does not answer.
#pragma once

#include <functional>
#include <optional>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace rlock::lock {

inline constexpr Milliseconds k_longest_outage{60'000};

// Waits between attempts to reach a server: at first 0.1 s, in the end 1 s. Gives up when an outage
// lasts longer than `longest`. That time begins again when servers say that they have just started.
class OutageRetry {
 public:
  // Gives up at `deadline` at the latest. Calls `on_begin` with the first failure of each outage.
  OutageRetry(TimePoint deadline, std::function<void(const Error&)> on_begin,
              Milliseconds longest = k_longest_outage);

  // Ends the outage: the server has answered.
  void reset();

  // Call it in the handler of `error`. Sleeps until the next attempt. Rethrows `error` if it is not
  // temporary, or when it is time to give up. Throws redis::Interrupted when `wake_fd` (-1: none)
  // becomes readable.
  void wait_or_throw(const Error& error, int wake_fd);

 private:
  TimePoint deadline_;
  std::function<void(const Error&)> on_begin_;
  Milliseconds longest_;
  std::optional<TimePoint> until_;
  Milliseconds pause_;
};

}  // namespace rlock::lock
