// One connection to one server: requests out, replies in, a bound on every wait.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/reply.hpp"
#include "redis/socket.hpp"
#include "redis/stream.hpp"
#include "redis/url.hpp"

namespace rlock::redis {

using Args = std::vector<std::string_view>;

// Bytes and list elements that one reply may have: a lock's replies are tiny, a snapshot is not.
inline constexpr std::size_t k_small_reply = 1U << 20;
inline constexpr std::size_t k_large_reply = 1U << 30;

class Connection {
 public:
  // Connects, authenticates and selects the database; `name` shows in CLIENT LIST.
  // Throws Unavailable, ServerError, ProtocolError, Interrupted.
  Connection(const Endpoint& endpoint, std::string_view name, std::size_t reply_limit,
             const Patience& patience);

  // Sends a request, not a byte of it after the deadline, and returns its reply, which may be an
  // error reply.
  // Throws Unavailable, ProtocolError, Interrupted; then the connection is good for `send` only.
  [[nodiscard]] Reply command(const Args& args, const Patience& patience);

  // Sends all requests, then returns their replies in order; each has the span of `each`. Throws as
  // `command`.
  [[nodiscard]] std::vector<Reply> commands(const std::vector<Args>& requests,
                                            const Patience& each);

  // Sends a request whose reply will be thrown away. Throws Unavailable, Interrupted.
  void send(const Args& args, const Patience& patience);

  // Says that no request will follow and waits until the server has closed its side.
  // Throws Unavailable, Interrupted.
  void finish(const Patience& patience);

  // Closes the connection so that the kernel throws away what it has not delivered yet (TCP): a
  // request whose outcome nobody waits for is not carried out late. To be called last.
  void abort() noexcept;

  // Returns the next reply or message that has arrived, without waiting, or nothing.
  // Throws Unavailable when the server has closed the connection, ProtocolError.
  [[nodiscard]] std::optional<Reply> try_receive();

  // Returns the descriptor to poll for input. What `try_receive` has not taken yet may already have
  // been read from it: call that until it returns nothing before polling.
  [[nodiscard]] int fd() const noexcept { return stream_->fd(); }

 private:
  void authenticate(const Endpoint& endpoint, const Patience& patience);
  void write(std::string_view bytes, const Patience& patience);
  void skip_unwanted(const Patience& patience);
  [[nodiscard]] Reply receive(const Patience& patience);
  short read_some();
  [[nodiscard]] std::optional<Reply> next_reply();
  [[noreturn]] void refuse(const ProtocolError& error) const;

  // Not on the stack, which may be small (`ulimit -s`). What is never used takes no memory.
  static constexpr std::size_t k_buffer_size = 65536;

  std::string server_;
  std::unique_ptr<char[]> buffer_ = std::make_unique_for_overwrite<char[]>(k_buffer_size);
  std::unique_ptr<Stream> stream_;
  ReplyParser parser_;
  std::size_t unwanted_ = 0;  // replies to requests made by `send`
  bool is_http_ = false;
};

}  // namespace rlock::redis
