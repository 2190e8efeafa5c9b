// Connections that listen to channels. Messages are hints: one may be lost with the connection.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "redis/client.hpp"

namespace rlock::redis {

struct Message {
  std::string channel;
  std::string text;
};

// In a cluster it listens to what is published to all nodes, and to what is published in the shards
// of the channels (Redis 7): a message that comes in both ways is told twice.
class Subscription {
 public:
  // Connects and subscribes; the server has confirmed every channel on return. In a cluster there
  // is a connection to the owner of each channel.
  // Throws Unavailable, ServerError, ProtocolError, Interrupted.
  Subscription(const ClientOptions& options, const std::vector<std::string>& channels);

  // Subscribes to more channels. Returns false if the server refuses, which changes nothing.
  // Not for a cluster. Throws Unavailable, ProtocolError, Interrupted.
  [[nodiscard]] bool add(const std::vector<std::string>& channels);

  // Listens to one more channel, instead of the one given before, if any; empty: to none. By a
  // pattern: so that it does not count as a listener there (PUBSUB NUMSUB). In a cluster it hears
  // what is published to all nodes. Returns false if the server refuses, and then it hears no more
  // than before the first call. Throws Unavailable, ProtocolError, Interrupted.
  [[nodiscard]] bool overhear(const std::string& channel);

  // Returns the descriptor to poll for input, after `drain` has returned no message.
  [[nodiscard]] int fd() const noexcept;

  // Takes all messages that have arrived, in order.
  // Throws Unavailable when a connection has ended or a channel is another node's now,
  // ProtocolError.
  [[nodiscard]] std::vector<Message> drain();

 private:
  // One command for several channels, and its confirmation.
  struct Verb {
    const char* command;
    const char* confirmation;
  };

  void listen_in_shards(const std::vector<std::string>& channels, const Patience& patience);
  std::optional<std::string> subscribe(Connection& connection, const Verb& verb,
                                       const std::vector<std::string>& channels);
  Reply receive(Connection& connection, const Patience& patience);
  [[nodiscard]] std::optional<Message> to_message(const Reply& reply) const;

  ClientOptions options_;
  std::vector<std::unique_ptr<Connection>> connections_;
  Fd all_;                      // polls several connections; not used for one
  std::string overheard_;       // the pattern, or empty
  std::vector<Message> early_;  // came before a later channel was confirmed
};

}  // namespace rlock::redis
