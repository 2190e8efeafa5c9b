// A request about a lock that is refused, however long one waits: the facts.
// cli/output/refusal_text has the sentences and the advice.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "lock/words/code_of.hpp"
#include "lock/words/kind.hpp"

namespace rlock::lock {

// A lock cannot have this name.
struct BadName {
  static constexpr const char* k_code = "bad_name";
  // length: it has not 1 to k_longest_name bytes. prefix: the keys of other locks begin so. reader:
  // it is the key of another lock's reader.
  enum class Because { length, prefix, reader };
  Because because;
  std::string prefix{};
};

// Something else uses the name of the lock that is to be taken.
struct InUse {
  static constexpr const char* k_code = "in_use";
  std::string found;  // as the scripts call it, such as "list" or "read-write lock"
};

// There is no lock to be broken, renewed or released, and no queue.
struct NotALock {
  static constexpr const char* k_code = "not_a_lock";
  // Whether it is a lock if the user says so: a string, or a hash with owners like an
  // application's.
  enum class If { never, simple, hash };
  std::string found;  // as in InUse
  If breakable = If::never;
};

// The counter of fencing tokens is not a counter.
struct NoCounter {
  static constexpr const char* k_code = "no_counter";
  std::string why;  // as the scripts or the server say
};

// This kind of lock has no fencing tokens.
struct NoTokens {
  static constexpr const char* k_code = "no_tokens";
  Kind kind;
};

// Several servers cannot draw a token for a nested run, and the outer run has no valid one.
struct NoOuterToken {
  static constexpr const char* k_code = "no_outer_token";
};

// An outer run holds the lock as a reader, and this run wants to write.
struct ReaderAbove {
  static constexpr const char* k_code = "reader_above";
};

// Several independent servers cannot keep this kind of lock.
struct NeedsOneServer {
  static constexpr const char* k_code = "needs_one_server";
  Kind kind;
};

// Two of several servers are one and the same. They are counted from 0.
struct Twins {
  static constexpr const char* k_code = "twins";
  std::size_t first;
  std::size_t second;
};

class Refused : public Error {
 public:
  using Why = std::variant<BadName, InUse, NotALock, NoCounter, NoTokens, NoOuterToken, ReaderAbove,
                           NeedsOneServer, Twins>;

  // `subject`: the lock's name. Of twins: the URLs of all servers.
  Refused(std::string subject, Why why)
      : Error(status_of(why), label_of(subject, why)),
        subject_(std::move(subject)),
        why_(std::move(why)) {}

  [[nodiscard]] const std::string& subject() const noexcept { return subject_; }
  [[nodiscard]] const Why& why() const noexcept { return why_; }

 private:
  static ExitStatus status_of(const Why& why) {
    const bool is_of_value = std::holds_alternative<InUse>(why) ||
                             std::holds_alternative<NotALock>(why) ||
                             std::holds_alternative<NoCounter>(why);
    return is_of_value ? ExitStatus::wrong_kind : ExitStatus::usage;
  }

  std::string subject_;
  Why why_;
};

}  // namespace rlock::lock
