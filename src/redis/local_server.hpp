// The private server of `local:`, for this user on this machine.
#pragma once

#include <string>

#include "base/fd.hpp"
#include "redis/socket.hpp"

namespace rlock::redis {

// Connects to the private server in `directory` (empty: the user's default directory). If no server
// runs there, starts a redis-server or valkey-server on a Unix socket. Only this user can enter the
// directory. If many processes do this at once, only one server is started. It outlives these
// processes, and a run of exec around them (see process/descendants.hpp). Throws Error (config) if
// the directory is not private, Unavailable, Interrupted.
[[nodiscard]] Fd connect_local(const std::string& directory, const Patience& patience);

// Returns the path of that server's socket. Starts no server, and does not check that one runs.
// Throws Error (config) if the directory does not exist or is not private.
[[nodiscard]] std::string local_socket(const std::string& directory);

}  // namespace rlock::redis
