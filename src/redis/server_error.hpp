// Errors that a server reports, and errors when it cannot be reached.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "tls/module.hpp"

namespace rlock::redis {

// The server cannot be reached or did not answer in time. It is unknown whether the server carried
// out a request that was on its way.
class Unavailable : public Error {
 public:
  explicit Unavailable(const std::string& message) : Error(ExitStatus::unavailable, message) {}
};

// The wake-up descriptor became readable during a request, whose outcome is unknown.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

// The server answered with an error.
class ServerError : public Error {
 public:
  // `text` is the server's line, such as "LOADING Redis is loading the dataset in memory". The
  // message begins with rlock's words: what happened, and what to do.
  ServerError(const std::string& server, const std::string& text);

  // Returns the message with `advice` after rlock's words, unless it is empty.
  [[nodiscard]] std::string message_with(const std::string& advice) const;
  // Returns the server's URL, as in the message.
  [[nodiscard]] const std::string& server() const noexcept { return server_; }
  // Returns the first word, such as "LOADING".
  [[nodiscard]] const std::string& code() const noexcept { return code_; }
  // Returns whether the user lacks a right, and the server does not say which.
  [[nodiscard]] bool lacks_unnamed_right() const noexcept { return lacks_unnamed_right_; }

 private:
  std::string server_;
  std::string code_;
  std::size_t words_end_;  // in the message, where the server's text follows
  bool lacks_unnamed_right_;
};

// One side of a TLS handshake refused the other. What to do about it depends on the options of the
// command line, so cli/output/error_text says that.
class TlsRefused : public Error {
 public:
  using Cause = tls::Failure::Cause;

  TlsRefused(Cause cause, const std::string& message)
      : Error(ExitStatus::permission, message), cause_(cause) {}

  [[nodiscard]] Cause cause() const noexcept { return cause_; }

 private:
  Cause cause_;
};

// Returns whether a server's error line has this code, such as "READONLY", also from a script.
[[nodiscard]] bool is_error(const std::string& text, std::string_view code);

}  // namespace rlock::redis
