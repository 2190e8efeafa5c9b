// One connection to one server. It sends requests and receives replies, with a bound on every wait.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/reply.hpp"
#include "redis/socket.hpp"
#include "redis/stream.hpp"
#include "redis/url.hpp"

namespace rlock::redis {

using Args = std::vector<std::string_view>;

// How many bytes and list elements one reply may have: of a lock, and of a snapshot.
inline constexpr std::size_t k_small_reply = 1U << 20;
inline constexpr std::size_t k_large_reply = 1U << 30;

// How connections are opened.
struct ConnectionOptions {
  Endpoint endpoint;           // of a server, or of the whole group or cluster
  std::string name = "rlock";  // shown in CLIENT LIST
  std::size_t reply_limit = k_small_reply;
};

class Connection {
 public:
  // Connects to a single server, authenticates and selects the database.
  // Throws Unavailable, ServerError, ProtocolError, Interrupted.
  Connection(const ConnectionOptions& options, const Deadline& deadline);

  // Sends a request, no byte of it after the deadline. Returns its reply, which may be an error.
  // Throws Unavailable, ProtocolError, Interrupted. After that, only `send` may be called.
  [[nodiscard]] Reply command(const Args& args, const Deadline& deadline);

  // When `command` has sent its next request, it calls `action`: for what can be done while the
  // server works. If the request cannot be sent, nobody calls `action`, which must not throw.
  void set_meanwhile(std::function<void()> action) { meanwhile_ = std::move(action); }

  // Sends all requests, and returns their replies. Each has the span of `each`. Throws as
  // `command`.
  [[nodiscard]] std::vector<Reply> commands(const std::vector<Args>& requests,
                                            const Deadline& each);

  // Sends a request. Its reply will be ignored. Throws Unavailable, Interrupted.
  void send(const Args& args, const Deadline& deadline);

  // Tells the server that no request follows, and waits until the server has closed its side.
  // Throws Unavailable, Interrupted.
  void finish(const Deadline& deadline);

  // Closes the connection so that the kernel throws away what it has not delivered yet (TCP). So
  // the server does not carry out a request late that nobody waits for. Must be the last call.
  void abort() noexcept;

  // As ReplyParser::skip_longer, for the replies to requests that follow.
  void skip_longer(std::size_t bytes) { parser_.skip_longer(bytes); }

  // Returns the next reply or message that has arrived, or nothing. Does not wait. Reads at most
  // `reads` times, and subtracts from it how often it did: a server may send without an end.
  // Throws Unavailable when the server has closed the connection, ProtocolError.
  [[nodiscard]] std::optional<Reply> try_receive(int& reads);

  // Returns the descriptor to poll for input. Before polling, call `try_receive` until it returns
  // nothing, because the connection may already have read more from the descriptor.
  [[nodiscard]] int fd() const noexcept { return stream_->fd(); }

 private:
  void authenticate(const Endpoint& endpoint, const Deadline& deadline);
  void write(std::string_view bytes, const Deadline& deadline);
  void skip_unwanted(const Deadline& deadline);
  [[nodiscard]] Reply receive(const Deadline& deadline);
  short read_some();
  [[nodiscard]] std::optional<Reply> next_reply();
  [[noreturn]] void refuse(const ProtocolError& error) const;

  // Not on the stack, which may be small (`ulimit -s`). Pages that are never used take no memory.
  static constexpr std::size_t k_buffer_size = 65536;

  std::string server_;
  std::unique_ptr<char[]> buffer_ = std::make_unique_for_overwrite<char[]>(k_buffer_size);
  std::unique_ptr<Stream> stream_;
  ReplyParser parser_;
  std::string unsent_;  // goes out with the first request
  std::function<void()> meanwhile_;
  std::size_t unwanted_ = 0;  // replies to requests of `send` that have not come yet
  bool is_http_ = false;
};

// Connects to one server of the group or cluster of `options`. Throws as Connection.
[[nodiscard]] std::unique_ptr<Connection> connect_node(const ConnectionOptions& options,
                                                       const HostAndPort& node,
                                                       const Deadline& deadline);

}  // namespace rlock::redis
