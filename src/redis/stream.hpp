// Reads and writes the bytes of a connection: a plain socket, or TLS on top of one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "redis/socket.hpp"
#include "redis/url.hpp"

namespace rlock::redis {

// Nothing in it waits.
class Stream {
 public:
  // What a read or a write did: some bytes, or the events to wait for before the next try.
  struct Step {
    std::size_t bytes = 0;
    short wait_for = 0;
  };

  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  // Reads what has arrived. Throws Unavailable when the connection has ended; Error.
  virtual Step read(std::span<char> buffer) = 0;
  // Writes the start of `bytes`, which the next try must begin with again. Throws as `read`.
  virtual Step write(std::string_view bytes) = 0;
  // Tells the other side that nothing follows: done without an event. Throws Unavailable.
  virtual Step end() = 0;

  // Returns whether `read` has data even if the socket has none.
  [[nodiscard]] virtual bool has_read_ahead() const noexcept = 0;
  [[nodiscard]] virtual int fd() const noexcept = 0;
};

// Makes a stream of a plain socket. For messages: `server` is the URL without user and password.
// `hint` is appended to the message that the server has closed the connection without a reply.
[[nodiscard]] std::unique_ptr<Stream> plain_stream(Fd socket, std::string server, std::string hint);

// Connects to a tls endpoint and verifies the server. Throws Unavailable (the message does not name
// the server), Interrupted, TlsRefused if one side refuses the other, Error (config) if a file
// cannot be used or this build has no TLS, ProtocolError if the server does not speak TLS.
[[nodiscard]] std::unique_ptr<Stream> connect_tls(const Endpoint& endpoint,
                                                  const Deadline& deadline);

}  // namespace rlock::redis
