// The commands that are shown to mend something. Each acts on the server that was looked at,
// whatever the shell's environment is where somebody pastes it, and none shows a password.
#pragma once

#include <string>
#include <vector>

#include "cli/settings/globals.hpp"
#include "lock/inspection/snapshot.hpp"
#include "redis/client.hpp"

namespace rlock::cli {

// Returns `hint` with the options that lead to the server, if it is a command "rlock ..." or
// "redis-cli ..."; otherwise unchanged. `server`: what rlock was told to look at; `node`: the
// single server of it that redis-cli is to talk to, or `server`. To be called after
// globals.session_options().
[[nodiscard]] std::string address(const std::string& hint, const Globals& globals,
                                  const redis::Endpoint& server, const redis::Endpoint& node);

// Addresses the hints of problems of a lock on the client's server. May ask sentinels for the
// master. Throws as redis::Client::find_masters.
void address(std::vector<lock::Problem>& problems, const Globals& globals, redis::Client& client);

// Returns the command "rlock ..." with the options that lead to all the servers of this run.
[[nodiscard]] std::string address_all(const std::string& command, const Globals& globals);

}  // namespace rlock::cli
