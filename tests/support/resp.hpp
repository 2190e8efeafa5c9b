// A small RESP2 client, and a parser that counts commands in a byte stream.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fd.hpp"
#include "wait_until.hpp"

namespace rlock::test {

// One connection that sends commands and reads the replies.
class RespClient {
 public:
  // Takes a connected stream socket.
  explicit RespClient(UniqueFd socket);

  // Sends one command and returns the flattened reply: strings as they are, integers in decimal,
  // nil as "(nil)", errors as "(error) ...", every element of (nested) arrays on its own. Throws
  // std::runtime_error when the connection breaks or bound (ms) passes.
  std::vector<std::string> call(const std::vector<std::string>& args,
                                std::chrono::milliseconds bound = std::chrono::seconds(10));

 private:
  void fill(const Deadline& deadline);
  std::string line(const Deadline& deadline);
  std::string exact(std::size_t size, const Deadline& deadline);
  void reply(std::vector<std::string>& into, const Deadline& deadline);

  UniqueFd socket_;
  std::string buffer_;
};

// Counts the commands (RESP arrays of bulk strings) in a stream that comes in pieces of any size.
// Payload bytes that look like a header are not counted. Inline commands are skipped.
class RequestCounter {
 public:
  // Takes the next piece. Returns how many command headers ended in it.
  std::size_t feed(std::string_view data);

  // True when the stream stands inside a command.
  [[nodiscard]] bool inside() const { return !line_.empty() || left_ > 0 || skip_ > 0; }

 private:
  bool end_line();

  std::string line_;
  std::int64_t left_ = 0;  // bulk strings still to come
  std::size_t skip_ = 0;   // payload bytes still to come
};

}  // namespace rlock::test
