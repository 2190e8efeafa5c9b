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

// A script with its keys and arguments: lua::NAME::Call of lua_scripts.hpp converts to it.
struct ScriptCall {
  const Script& script;
  std::vector<std::string> keys;  // all in one cluster slot
  std::vector<std::string> args;
  std::string key_count = std::to_string(keys.size());  // as the command has it
};

// Runs a script by its SHA1, or by its text if the server does not know it. A script that only
// reads is run by EVALSHA_RO or EVAL_RO, if the server knows and permits these commands (Redis 7).
// `is_asking`: ASKING must precede each request, because the slot is being moved to this node.
// Returns the reply, which may be an error reply. Throws as Connection::command.
[[nodiscard]] Reply run_script(Connection& connection, const ScriptCall& call,
                               const Deadline& deadline, bool is_asking = false);

// Runs scripts that only read, in one round trip. Returns the replies in order. They may be errors.
// Each has the span of `each`. Throws as Connection::command.
[[nodiscard]] std::vector<Reply> run_scripts(Connection& connection,
                                             const std::vector<ScriptCall>& calls,
                                             const Deadline& each);

// Returns the words of a command such as EVALSHA, which names the script by its SHA1: views of
// `call`.
[[nodiscard]] Args script_command(std::string_view command, const ScriptCall& call);

// Sends a script by its text and does not wait for the reply. Throws as Connection::send.
void send_script(Connection& connection, const ScriptCall& call, const Deadline& deadline);

}  // namespace rlock::redis
