// A request about a lock that has failed, and may succeed later: the facts. cli/output/refusal_text
// has the sentences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "lock/words/code_of.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {

// What several servers are asked for.
enum class Purpose {
  take,
  reenter,
  renew,
  ask_for_lock,
  ask_for_hold,
  release,
  raise_token,
  check_token,
  listen
};

// No majority of the servers has answered.
struct TooFew {
  static constexpr const char* k_code = "too_few_servers";
  std::size_t servers;
  std::size_t needed;
  Purpose purpose;
  std::vector<std::exception_ptr> failures;
  std::size_t silent;  // servers that have neither answered nor failed
};

// No owner is known to have a majority of the servers, and some of them fail.
struct NoOwner {
  static constexpr const char* k_code = "no_owner";
  std::size_t servers;
  std::vector<std::exception_ptr> failures;
};

// Servers without a counter of fencing tokens, which they may have lost.
struct LostCounters {
  static constexpr const char* k_code = "lost_counters";
  std::size_t servers;
};

// The lease ended, or the lock was deleted, before enough of the servers knew its fencing token.
struct LateToken {
  static constexpr const char* k_code = "late_token";
  std::size_t servers;
  std::size_t needed;
};

// The server may have forgotten a lock, because it has just started.
struct JustStarted {
  static constexpr const char* k_code = "just_started";
  Milliseconds up;     // servers report whole seconds
  Milliseconds delay;  // how long it must be up to have a vote
};

// The lock was given back, because too few replicas know of it.
struct TooFewReplicas {
  static constexpr const char* k_code = "too_few_replicas";
  std::int64_t found;
  int needed;
};

// Each lease has ended before its grant arrived.
struct SlowAnswers {
  static constexpr const char* k_code = "slow_answers";
  Milliseconds lease;
};

// The server was restarted while its keys were searched.
struct CutOff {
  static constexpr const char* k_code = "cut_off";
};

// There is no thread to ask the server.
struct NoThread {
  static constexpr const char* k_code = "no_thread";
  std::string why;
};

class Failed : public redis::Unavailable {
 public:
  using Why = std::variant<TooFew, NoOwner, LostCounters, LateToken, JustStarted, TooFewReplicas,
                           SlowAnswers, CutOff, NoThread>;

  // `subject`: the URL of the server, or of all. Of LateToken: the lock's name. Empty for the
  // others of several servers.
  Failed(std::string subject, Why why)
      : Unavailable(label_of(subject, why)), subject_(std::move(subject)), why_(std::move(why)) {}

  [[nodiscard]] const std::string& subject() const noexcept { return subject_; }
  [[nodiscard]] const Why& why() const noexcept { return why_; }

 private:
  std::string subject_;
  Why why_;
};

// One server, or too many of several, has no vote because it has just started. That ends by itself.
class Restarted : public Failed {
 public:
  using Failed::Failed;
};

}  // namespace rlock::lock
