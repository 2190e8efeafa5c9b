// Listens for the message that a lock has become free, on one server or on several.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lock/kinds/lock.hpp"
#include "lock/servers/ballot.hpp"
#include "lock/servers/session.hpp"
#include "redis/subscription.hpp"

namespace rlock::lock {

class Listener {
 public:
  // Subscribes to `channel` on the server. With several servers, waits until a majority has
  // subscribed. Throws redis::Unavailable, redis::ServerError, redis::ProtocolError,
  // redis::Interrupted.
  Listener(Session& session, const Channel& channel);

  // Also listens to this channel, instead of the previous extra one, without counting as a
  // listener. An empty name ends this. Returns whether a channel was added: a message may have been
  // missed. Returns false if the server refuses. Does nothing with several servers. Throws
  // redis::Interrupted, redis::Unavailable, redis::ProtocolError.
  [[nodiscard]] bool overhear(const std::string& channel);

  // Sleeps until a message says that the lock is free, or until `until`. With several servers, it
  // needs the message of a majority, or 5 ms after the first message. Calls `tick` once a second.
  // Returns whether such messages came. Throws redis::Interrupted. Throws redis::Unavailable or
  // redis::ProtocolError if too few connections are left.
  [[nodiscard]] bool sleep(TimePoint until, const std::function<void()>& tick);

  // Call it after `sleep` returned true. Waits until a message says that the lock is taken again,
  // or until `until`. Returns whether that message came. Not for several servers. Throws as
  // `sleep`.
  [[nodiscard]] bool hears_taken(TimePoint until);

  // Returns when the last message said that the lock is taken again. Its sender had just asked, and
  // the lease did not end within lua::k_short_lease. TimePoint(): no such message came.
  [[nodiscard]] TimePoint last_taken() const { return last_taken_; }

 private:
  using Subscribed = std::shared_ptr<redis::Subscription>;

  // Takes over the subscriptions that further servers have confirmed.
  void adopt();
  // Reads the messages that have arrived. Returns whether the last messages of enough servers say
  // that the lock is free.
  [[nodiscard]] bool hears();
  // Waits until a message may have arrived, or until `until`. Returns whether the session's wake
  // descriptor is readable.
  [[nodiscard]] bool wait(TimePoint until) const;

  Session& session_;
  std::string taken_;                         // the message that the lock is taken again, or empty
  std::optional<Ballot<Subscribed>> ballot_;  // only with several servers
  std::vector<Subscribed> subscribed_;
  std::vector<bool> has_called_;  // by server: its last message said that the lock is free
  std::optional<TimePoint> first_call_;
  TimePoint last_taken_;
  std::size_t needed_ = 1;
  std::string overheard_;
};

}  // namespace rlock::lock
