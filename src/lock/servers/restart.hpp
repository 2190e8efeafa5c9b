// A server that has just started, and may have forgotten a lock.
#pragma once

#include <string>

#include "lock/words/terms.hpp"
#include "redis/client.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {

// One server, or too many of several, has no vote because it has just started. That ends by itself.
class Restarted : public redis::Unavailable {
 public:
  using Unavailable::Unavailable;
};

// Returns what is told of a server that has no vote for `delay` after its start. A server whose
// clock was set back has no uptime, so it may have started long ago.
[[nodiscard]] std::string describe_restart(Milliseconds delay);

// One server, which is up for the time `up`, and gets a vote after `delay`.
class JustStarted : public Restarted {
 public:
  JustStarted(const std::string& server, Milliseconds up, Milliseconds delay);

  // Returns the server's URL.
  [[nodiscard]] const std::string& server() const noexcept { return server_; }
  [[nodiscard]] Milliseconds delay() const noexcept { return delay_; }
  // Returns after how long it has a vote.
  [[nodiscard]] Milliseconds time_left() const noexcept { return left_; }

 private:
  std::string server_;
  Milliseconds delay_;
  Milliseconds left_;
};

// Throws JustStarted, unless the server writes each change to the disk before it answers
// (appendfsync always, no-appendfsync-on-rewrite no). Call it for a server that started only `up`
// ago: any other may have forgotten a lock that is still held. Throws as redis::Client::commands.
void check_restart(redis::Client& client, Milliseconds up, const Terms& terms);

}  // namespace rlock::lock
