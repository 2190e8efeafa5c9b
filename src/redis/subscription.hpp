// A connection that listens to channels. Messages are hints: one may be lost with the connection.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "redis/client.hpp"

namespace rlock::redis {

struct Message {
  std::string channel;
  std::string text;
};

class Subscription {
 public:
  // Connects and subscribes; the server has confirmed every channel on return.
  // Throws Unavailable, ServerError, ProtocolError, Interrupted.
  Subscription(const ClientOptions& options, const std::vector<std::string>& channels);

  // Subscribes to more channels. Returns false if the server refuses, which changes nothing.
  // Throws Unavailable, ProtocolError, Interrupted.
  [[nodiscard]] bool add(const std::vector<std::string>& channels);

  // Returns the descriptor to poll for input, after `drain` has returned no message.
  [[nodiscard]] int fd() const noexcept { return connection_.fd(); }

  // Takes all messages that have arrived, in order.
  // Throws Unavailable when the connection has ended, ProtocolError.
  [[nodiscard]] std::vector<Message> drain();

 private:
  std::optional<std::string> subscribe(const std::vector<std::string>& channels);
  Reply receive(const Patience& patience);

  ClientOptions options_;
  Connection connection_;
  std::vector<Message> early_;  // came before a later channel was confirmed
};

}  // namespace rlock::redis
