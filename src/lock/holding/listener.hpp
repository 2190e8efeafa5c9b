// Hearing that a lock has become free, from the server that keeps it or from several.
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
  // Listens to a channel on the server, or on a majority of them at the least. Throws
  // redis::Unavailable, redis::ServerError, redis::ProtocolError, redis::Interrupted.
  Listener(Session& session, const Channel& channel);

  // Hears messages on one more channel of the server, too, instead of the one given before; without
  // being counted as its listener. Empty: on none. Returns whether that is new: then messages may
  // have been missed. Where the server refuses, nothing is heard. Throws redis::Interrupted,
  // redis::Unavailable, redis::ProtocolError.
  [[nodiscard]] bool overhear(const std::string& channel);

  // Sleeps until it hears that the lock is free, at most `until`; of several servers, until a
  // majority says so, or a moment after the first. Calls `tick` once a second. Returns whether it
  // heard so. Throws redis::Interrupted, and where too few connections are left redis::Unavailable
  // or redis::ProtocolError.
  [[nodiscard]] bool sleep(TimePoint until, const std::function<void()>& tick);

  // After `sleep` returned true: waits until it hears that the lock is taken again, at most
  // `until`. Returns whether it heard so. Not for several servers. Throws as sleep.
  [[nodiscard]] bool hears_taken(TimePoint until);

  // Returns when it last heard that the lock is taken again: somebody had just asked, and found no
  // lease that ends within lua::k_short_lease. TimePoint(): it has not.
  [[nodiscard]] TimePoint last_taken() const { return last_taken_; }

 private:
  using Subscribed = std::shared_ptr<redis::Subscription>;

  // Takes over the connections to further servers that have been made.
  void adopt();
  // Takes the messages that have come. Returns whether the last message of enough servers says that
  // the lock is free.
  [[nodiscard]] bool hears();
  // Waits until something can have come, at most `until`.
  void wait(TimePoint until) const;

  Session& session_;
  std::string taken_;                         // the message that the lock is taken again, or empty
  std::optional<Ballot<Subscribed>> ballot_;  // of several servers
  std::vector<Subscribed> subscribed_;
  std::vector<bool> has_called_;  // each one's last message said that the lock is free
  std::optional<TimePoint> first_call_;
  TimePoint last_taken_;
  std::size_t needed_ = 1;
  std::string overheard_;
};

}  // namespace rlock::lock
