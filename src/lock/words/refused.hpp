// A request about a lock that is refused, however long one waits.
#pragma once

#include <string>

#include "base/error.hpp"

namespace rlock::lock {

// The message says which lock it is, and why. What to do about it depends on the options of the
// command line, so cli/output/error_text says that.
class Refused : public Error {
 public:
  enum class Why {
    // The name is in use (wrong_kind):
    is_plain,       // as a plain or a fair lock
    is_read_write,  // as a read/write lock
    is_string,      // as a string, which may be a lock of another kind
    is_any_string,  // as a string, which nobody has called a lock
    is_other,       // as something else
    // The lock cannot be had in this way (usage):
    no_tokens,          // its kind has no fencing tokens
    no_token_drawn,     // re-entered on several servers: the outer run has no valid token
    needs_one_server,   // several independent servers cannot keep its kind
    needs_fresh_value,  // several independent servers need a new value for each attempt
    is_one_server,      // two of several servers are one and the same
  };

  Refused(Why why, const std::string& message)
      : Error(why <= Why::is_other ? ExitStatus::wrong_kind : ExitStatus::usage, message),
        why_(why) {}

  [[nodiscard]] Why why() const noexcept { return why_; }

 private:
  Why why_;
};

}  // namespace rlock::lock
