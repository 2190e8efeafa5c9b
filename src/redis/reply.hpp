// The replies of a server (RESP2), and the parser of their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

struct redisReader;

namespace rlock::redis {

struct Reply {
  enum class Type { nil, integer, string, status, error, array };

  Type type = Type::nil;
  std::int64_t integer = 0;
  std::string text;          // string, status, error
  std::vector<Reply> items;  // array

  [[nodiscard]] bool is_nil() const { return type == Type::nil; }
  [[nodiscard]] bool is_error() const { return type == Type::error; }
  // Returns the integer. Throws ProtocolError for other types.
  [[nodiscard]] std::int64_t as_integer() const;
  // Returns the text of a string or a status. Throws ProtocolError for other types.
  [[nodiscard]] const std::string& as_text() const;
  // Returns the text, or nothing for nil. Throws ProtocolError for other types.
  [[nodiscard]] std::optional<std::string> as_optional_text() const;
  // Returns the items, at least `least` of them. Throws ProtocolError otherwise.
  [[nodiscard]] const std::vector<Reply>& as_array(std::size_t least = 0) const;
};

// Returns the run_id in the reply to INFO SERVER, which changes with each restart of the server.
// Returns an empty string if there is none, for example because the user is not allowed to ask.
[[nodiscard]] std::string run_id_in(const Reply& info);

// The server's answer makes no sense.
class ProtocolError : public Error {
 public:
  explicit ProtocolError(const std::string& why)
      : Error(ExitStatus::wrong_kind, "the server's answer makes no sense: " + why) {}
  ProtocolError(const std::string& server, const std::string& why)
      : Error(ExitStatus::wrong_kind, server + ": " + why) {}
};

// Turns a stream of bytes into replies. Throws ProtocolError if the bytes are not RESP2 or a reply
// is larger than the limit, and Unavailable if there is no memory for a reply. The parser cannot be
// used after that.
class ReplyParser {
 public:
  // How much the present reply may still take.
  struct Budget {
    std::size_t left;         // bytes and elements
    bool is_refused = false;  // the reply is too large, or not RESP2
  };

  // `limit`: how many bytes of text and array elements, added up, one reply may have.
  explicit ReplyParser(std::size_t limit);
  ReplyParser(ReplyParser&&) = delete;

  // From now on, a string of more than `bytes` bytes becomes nil, and takes no memory. Call it
  // between two replies.
  void skip_longer(std::size_t bytes) { longest_ = bytes; }

  void feed(std::string_view bytes);
  // Returns the next whole reply, or nothing if more bytes are needed.
  [[nodiscard]] std::optional<Reply> next();

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const;
  };

  [[noreturn]] void fail() const;
  void feed_reader(std::string_view bytes);
  void begin_item();

  std::size_t limit_;
  std::size_t longest_ = std::numeric_limits<std::size_t>::max();
  Budget budget_;
  // Only after skip_longer:
  std::string line_;             // the line that is not complete yet
  std::size_t string_left_ = 0;  // how many bytes of a string and its end of line follow
  bool is_skipping_ = false;     // this string is too long
  std::unique_ptr<redisReader, FreeReader> reader_;
};

}  // namespace rlock::redis
