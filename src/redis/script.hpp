// A Lua script of lua/, as embedded at build time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "redis/connection.hpp"

namespace rlock::redis {

struct Script {
  enum class Access { write, read };
  enum class Voice { silent, publishes };

  std::string_view name;
  std::string_view sha1;
  std::string_view text;
  Access access = Access::write;
  Voice voice = Voice::silent;
};

// The keys (all in one cluster slot) and arguments of one call of a script.
struct ScriptArgs {
  std::vector<std::string> keys;
  std::vector<std::string> args;
};

// What lua_scripts.hpp makes of a script's keys and arguments (lua::NAME::Call).
struct ScriptCall {
  const Script& script;
  ScriptArgs args;
};

// Whether a request has to be introduced by ASKING: its slot of a cluster is being moved to where
// it is sent.
enum class Asking { no, yes };

// Runs `script` by its SHA1, and by its text if the server does not know it; one that only reads
// runs where the server itself forbids it to write, if that is known and allowed there (Redis 7).
// Returns the reply, which may be an error reply. Throws as Connection::command.
[[nodiscard]] Reply run_script(Connection& connection, const Script& script, const ScriptArgs& call,
                               const Patience& patience, Asking asking = Asking::no);

// Runs `script`, which must only read, once for each of `calls`, in one round trip. Returns the
// replies in order, each of which may be an error; each has the span of `each`. Throws as
// Connection::command.
[[nodiscard]] std::vector<Reply> run_scripts(Connection& connection, const Script& script,
                                             const std::vector<ScriptArgs>& calls,
                                             const Patience& each);

// Sends `script` by its text and does not wait for the reply. Throws as Connection::send.
void send_script(Connection& connection, const Script& script, const ScriptArgs& call,
                 const Patience& patience);

}  // namespace rlock::redis
