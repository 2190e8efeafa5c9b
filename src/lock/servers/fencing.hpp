// Fencing tokens: numbers that grow with every grant of a lock. So the protected resource can
// refuse an owner that has lost the lock unnoticed. Scripts draw them (lua/include/fence.lua).
#pragma once

#include <cstdint>
#include <string>

#include "lock/servers/session.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

struct TokenCheck {
  enum class Verdict { accepted, stale, unknown };
  Verdict verdict = Verdict::accepted;
  std::string highest;  // the highest token that was granted or accepted so far
};

// What a server without a counter does. One of several servers may have lost its counter.
enum class Missing { accepts, abstains };

// check_token and raise_token may be sent again: they count once. They throw as redis::Client::run,
// and Refused if the counter key is not a counter.

// Accepts `token` for the lock `name` unless a higher one was granted or accepted before. If a
// server without a counter abstains, the verdict is `unknown`, and nothing changes.
[[nodiscard]] TokenCheck check_token(redis::Client& client, const std::string& name,
                                     std::int64_t token, Missing missing = Missing::accepts);

// Asks the only server, or several. The verdict is never `unknown`. Several servers accept a token
// if a majority, each with a counter, accepts it, or if all servers answered and none knows a
// higher one. It is stale if that has become impossible and a server knows a higher one. Throws
// Refused (usage) if two of the servers are twins.
[[nodiscard]] TokenCheck check_token(Session& session, const std::string& name, std::int64_t token);

// Raises the counter of this server to `token`, which `owner` has drawn with a majority of servers.
// Returns false, and changes nothing, if `owner` does not hold the lock `name` on this server.
[[nodiscard]] bool raise_token(redis::Client& client, const std::string& name,
                               const std::string& owner, std::int64_t token);

}  // namespace rlock::lock
