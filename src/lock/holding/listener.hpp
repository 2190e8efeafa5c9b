// Hearing that a lock has become free, from the server that keeps it or from several.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lock/servers/ballot.hpp"
#include "lock/servers/session.hpp"
#include "redis/subscription.hpp"

namespace rlock::lock {

class Listener {
 public:
  // Listens to `channel` on the server, or on a majority of them at the least. Throws
  // redis::Unavailable, redis::ServerError, redis::ProtocolError, redis::Interrupted.
  Listener(Session& session, const std::string& channel);

  // Hears messages on one more channel of the server, too, instead of the one given before; without
  // being counted as its listener. Empty: on none. Returns whether that is new: then messages may
  // have been missed. Where the server refuses, nothing is heard. Throws redis::Interrupted,
  // redis::Unavailable, redis::ProtocolError.
  [[nodiscard]] bool overhear(const std::string& channel);

  // Sleeps until somebody calls, at most `until`; of several servers, until a majority has, or a
  // moment after the first. Calls `tick` once a second. Throws redis::Interrupted, and where too
  // few connections are left redis::Unavailable or redis::ProtocolError.
  void sleep(TimePoint until, const std::function<void()>& tick);

 private:
  using Subscribed = std::unique_ptr<redis::Subscription>;

  // Takes over the connections to further servers that have been made.
  void adopt();
  // Takes the messages that have come. Returns whether there were enough.
  [[nodiscard]] bool hears();
  // Waits until something can have come. Returns false when `until` has passed.
  [[nodiscard]] bool wait(TimePoint until) const;

  Session& session_;
  std::optional<Ballot<Subscribed>> ballot_;  // of several servers
  std::vector<Subscribed> subscribed_;
  std::vector<bool> has_called_;
  std::optional<TimePoint> first_call_;
  std::size_t needed_ = 1;
  std::string overheard_;
};

}  // namespace rlock::lock
