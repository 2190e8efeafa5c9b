// The commands that are shown to mend something.
#pragma once

#include <string>

#include "cli/globals.hpp"
#include "redis/url.hpp"

namespace rlock::cli {

// Returns the option that names the server, for a shell; nothing if the user has named none, so
// that a command of ours finds it as this one did.
[[nodiscard]] std::string server_option(const Globals& globals, const redis::Endpoint& endpoint);

// Returns `hint` with the option `server` put into it, if it is a command of ours that names none.
[[nodiscard]] std::string name_server(const std::string& hint, const std::string& server);

}  // namespace rlock::cli
