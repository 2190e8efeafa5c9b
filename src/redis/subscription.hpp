// A connection that listens to channels. Messages are hints: one may be lost with the connection.
#pragma once

#include <string>
#include <vector>

#include "redis/client.hpp"

namespace rlock::redis {

class Subscription {
 public:
  // Connects and subscribes; the server has confirmed every channel on return.
  // Throws Unavailable, ServerError, ProtocolError, Interrupted.
  Subscription(const ClientOptions& options, const std::vector<std::string>& channels);

  // Returns the descriptor to poll for input, after `drain` has returned no message.
  [[nodiscard]] int fd() const noexcept { return connection_.fd(); }

  // Takes all messages that have arrived. Returns the channels they came on, in order.
  // Throws Unavailable when the connection has ended, ProtocolError.
  [[nodiscard]] std::vector<std::string> drain();

 private:
  Connection connection_;
};

}  // namespace rlock::redis
