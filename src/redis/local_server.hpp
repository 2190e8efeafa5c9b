// The embedded default: a private server of this user on this machine.
#pragma once

#include <string>

#include "base/fd.hpp"
#include "redis/socket.hpp"

namespace rlock::redis {

// Connects to the private server in `directory` (empty: the user's default directory) and starts it
// first if none runs there: a redis-server or valkey-server on a Unix socket, in a directory that
// only this user can enter. However many processes do this at once, one server is started; it
// outlives them, and a run of exec above (see process/descendants.hpp). Throws Error (config) if
// the directory is not private, Unavailable, Interrupted.
[[nodiscard]] Fd connect_local(const std::string& directory, const Patience& patience);

// Returns the socket of that server, which may run or not; starts none. Throws Error (config) if
// the directory is not there, or not private.
[[nodiscard]] std::string local_socket(const std::string& directory);

}  // namespace rlock::redis
