// The commands that rlock prints, and what pastes them.
#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/process.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

namespace rlock::test::remedies {

inline const std::string k_password = "s3cret-Horse";
inline const std::string k_token = "redisson_lock_token:{job}";

inline Result invoke(const Words& words, EnvChanges env = {}) {
  return run(rlock_argv(words), {.env = std::move(env)});
}

// The commands behind `mark`, in order.
inline Words commands_in(const std::string& out, const std::string& mark) {
  Words commands;
  for (std::size_t at = 0; (at = out.find(mark, at)) != std::string::npos;) {
    at += mark.size();
    commands.push_back(out.substr(at, out.find('\n', at) - at));
  }
  return commands;
}

// Runs a printed command as a person does who has confirmed it and types the password if asked, in
// a shell that knows of another server. It must end with `status`.
inline void paste(std::string command, EnvChanges env, int status = 0) {
  for (const std::string asking : {"unlock --force", "evict --dead"}) {
    const std::size_t at = command.find(asking);
    if (at != std::string::npos) command.insert(at + asking.size(), " -y");
  }
  if (!env.contains("RLOCK_REDIS")) env["RLOCK_REDIS"] = "redis://127.0.0.1:1";
  const std::string script =
      "rlock() { \"$0\" \"$@\"; }; printf '" + k_password + "\\n' | {\n" + command + "\n}";
  const Result result = run({"bash", "-c", script, rlock_program()}, {.env = std::move(env)});
  CAPTURE(command);
  CAPTURE(result.out);
  CAPTURE(result.err);
  CHECK(result.status == status);
  CHECK_FALSE(has(result.out, "ERR"));
}

// A server with a password and a user, whose locks are in database 3.
struct Guarded {
  Server server{{.args = {"--requirepass", k_password}}};
  std::string host = server.tcp_url().substr(8);

  Guarded() {
    server.command({"ACL", "SETUSER", "bob", "on", ">" + k_password, "~*", "&*", "+@all"});
  }

  std::string command(const Words& words) const {
    RespClient client = server.connect();
    client.call({"SELECT", "3"});
    return client.call(words).at(0);
  }
};

}  // namespace rlock::test::remedies
