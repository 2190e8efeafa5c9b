// Fencing tokens: numbers that grow with every grant of a lock, so that what it protects can refuse
// one who has lost it without knowing. Locks draw them (lua/include/fence.lua).
#pragma once

#include <cstdint>
#include <string>

#include "lock/servers/session.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

struct TokenCheck {
  enum class Verdict { accepted, stale, unknown };
  Verdict verdict = Verdict::accepted;
  std::string highest;  // that was granted or accepted so far
};

// What a server does that has no counter: one of several may have lost it.
enum class Missing { accepts, abstains };

// Both may be sent again: they count once. Throw as redis::Client::run, and as refuse_counter.

// Accepts `token` for the lock `name` unless a higher one was granted or accepted before. Unknown,
// and nothing is changed, where a server without a counter abstains.
[[nodiscard]] TokenCheck check_token(redis::Client& client, const std::string& name,
                                     std::int64_t token, Missing missing = Missing::accepts);

// The same of several servers, never unknown: a majority of those with a counter must accept it, or
// all servers must have answered and none know a higher one. It is stale when that cannot be any
// more, and one knows a higher one. Throws Error (usage) if two of those that decide are one.
[[nodiscard]] TokenCheck check_token(Session& session, const std::string& name, std::int64_t token);

// Sees to it that the next token drawn on this server is higher than `token`, which `owner` has
// drawn with a majority of servers. Returns false, and changes nothing, if he does not hold the
// lock `name` here.
[[nodiscard]] bool raise_token(redis::Client& client, const std::string& name,
                               const std::string& owner, std::int64_t token);

// Throws Error (wrong_kind): the counter of the lock `name` is none, for the reason `why`.
[[noreturn]] void refuse_counter(const std::string& name, const std::string& why);

}  // namespace rlock::lock
