// Fencing tokens: numbers that grow with every grant of a lock. So the protected resource can
// refuse an owner that has lost the lock unnoticed. Scripts draw them (lua/include/fence.lua).
#pragma once

#include <cstdint>
#include <string>

#include "lock/servers/session.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

struct TokenCheck {
  // not_drawn: higher than any token that was drawn. no_counter: no token was drawn, or the server
  // has lost its data.
  enum class Verdict { accepted, stale, not_drawn, no_counter };
  Verdict verdict = Verdict::accepted;
  std::string highest;  // the highest token that was drawn; empty without a counter
};

// check_token and raise_token may be sent again: they count once. They throw as redis::Client::run,
// and no_counter if the counter key is not a counter.

// Accepts `token` if it is the highest that was drawn for the lock `name`. Changes nothing.
[[nodiscard]] TokenCheck check_token(redis::Client& client, const std::string& name,
                                     std::int64_t token);

// Asks the only server, or several. Several servers accept a token if one of them has it as its
// highest, and a majority, or all that there are, knows of no higher one. It is stale if that has
// become impossible and a server knows a higher one. Throws Error (usage) if two of the servers
// are twins.
[[nodiscard]] TokenCheck check_token(Session& session, const std::string& name, std::int64_t token);

// Raises the counter of this server to `token`, which `owner` has drawn with a majority of servers.
// Returns false, and changes nothing, if `owner` does not hold the lock `name` on this server.
[[nodiscard]] bool raise_token(redis::Client& client, const std::string& name,
                               const std::string& owner, std::int64_t token);

}  // namespace rlock::lock
