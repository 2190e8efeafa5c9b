// The way that a connection's bytes take: a plain socket, or TLS on top of one. Nothing here waits.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.hpp"

namespace rlock::redis {

class Stream {
 public:
  // What came of a read or a write: some bytes, or the events (POLLIN, POLLOUT) to wait for before
  // it is tried again.
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
  // Writes the start of `bytes`; tried again, they must start with the same. Throws as `read`.
  virtual Step write(std::string_view bytes) = 0;
  // Says that nothing follows. Returns no event if that is done. Throws Unavailable.
  virtual Step end() = 0;

  // True if `read` has something though the socket may have nothing.
  [[nodiscard]] virtual bool has_read_ahead() const noexcept = 0;
  [[nodiscard]] virtual int fd() const noexcept = 0;
};

// For messages: `server` is its URL without user and password, `hint` follows the news that it has
// left without a word.
[[nodiscard]] std::unique_ptr<Stream> plain_stream(Fd socket, std::string server, std::string hint);

}  // namespace rlock::redis
