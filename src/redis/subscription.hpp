// Connections that listen to channels. Messages are hints, and may be lost.
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

// In a cluster, it listens to messages for all nodes (PUBLISH), and to messages in the shards of
// the channels (SPUBLISH, Redis 7). A message that is published in both ways is returned twice.
class Subscription {
 public:
  // Connects and subscribes. The server has confirmed every channel. In a cluster, connects to the
  // owner of each. Throws Unavailable, ServerError, ProtocolError, Interrupted.
  Subscription(const ClientOptions& options, const std::vector<std::string>& channels);

  // Subscribes to more channels. Returns false and changes nothing if the server refuses. Not for a
  // cluster. Throws Unavailable, ProtocolError, Interrupted.
  [[nodiscard]] bool add(const std::vector<std::string>& channels);

  // Listens to one more channel, which replaces the channel of the previous call. Empty: listens to
  // none. Subscribes to a pattern, so that it does not count as a listener of the channel (PUBSUB
  // NUMSUB). In a cluster, it gets only messages for all nodes. Returns false if the server
  // refuses. Then it listens only to the channels of the constructor and `add`. Throws Unavailable,
  // ProtocolError, Interrupted.
  [[nodiscard]] bool overhear(const std::string& channel);

  // Returns the descriptor to poll for input, after `drain`.
  [[nodiscard]] int fd() const noexcept;

  // Returns the messages that have arrived, in order, and skips messages that are too long to be of
  // a lock. Reads some 100 KiB at most: if more have arrived, `fd` stays readable.
  // Throws Unavailable if a connection has ended or another node owns a channel now, ProtocolError.
  [[nodiscard]] std::vector<Message> drain();

 private:
  void listen_in_shards(const std::vector<std::string>& channels, const Deadline& deadline);
  std::optional<std::string> subscribe(Connection& connection, const char* command,
                                       const std::vector<std::string>& channels);
  Reply receive(Connection& connection, const Deadline& deadline);
  bool add_message(const Reply& reply, std::vector<Message>& messages) const;

  ClientOptions options_;
  std::vector<std::unique_ptr<Connection>> connections_;
  Fd all_;                      // polls several connections; not used for one connection
  std::string overheard_;       // the pattern, or empty
  std::vector<Message> early_;  // messages that came before a later channel was confirmed
};

}  // namespace rlock::redis
