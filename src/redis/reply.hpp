// What a server answers (RESP2), and the parser of its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
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
  // Returns the integer. Throws ProtocolError if it is none.
  [[nodiscard]] std::int64_t as_integer() const;
  // Returns the text of a string or a status. Throws ProtocolError if it is neither.
  [[nodiscard]] const std::string& as_text() const;
  // Returns the text, or nothing for nil. Throws ProtocolError for other types.
  [[nodiscard]] std::optional<std::string> as_optional_text() const;
  // Returns the items, at least `least` of them. Throws ProtocolError otherwise.
  [[nodiscard]] const std::vector<Reply>& as_array(std::size_t least = 0) const;
};

// The server's answer makes no sense.
class ProtocolError : public Error {
 public:
  explicit ProtocolError(const std::string& why)
      : Error(ExitStatus::wrong_kind, "the server's answer makes no sense: " + why) {}
  ProtocolError(const std::string& server, const std::string& why)
      : Error(ExitStatus::wrong_kind, server + ": " + why) {}
};

// Turns a stream of bytes into replies. A stream that is no RESP2, or a reply that would need more
// than the limit, throws ProtocolError, and one for which there is no memory Unavailable; the
// parser is of no use after that.
class ReplyParser {
 public:
  // What the reply being parsed may still take, and whether it is one that we do not want.
  struct Budget {
    std::size_t left;  // bytes and elements
    bool is_refused = false;
  };

  // `limit`: bytes of text and array elements, added up, that one reply may have.
  explicit ReplyParser(std::size_t limit);
  ReplyParser(ReplyParser&&) = delete;
  ~ReplyParser();

  void feed(std::string_view bytes);
  // Returns the next whole reply, or nothing if more bytes are needed.
  [[nodiscard]] std::optional<Reply> next();

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const;
  };

  [[noreturn]] void fail() const;

  std::size_t limit_;
  Budget budget_;
  std::unique_ptr<redisReader, FreeReader> reader_;
};

}  // namespace rlock::redis
