// The private server of `local:`, for this user on this machine.
#pragma once

#include <string>

#include "base/fd.hpp"
#include "redis/socket.hpp"

namespace rlock::redis {

// Connects to the private server in `directory` (empty: the user's default directory). If no server
// runs there, starts a redis-server or valkey-server on a Unix socket. Only this user can enter the
// directory. If many processes do this at once, only one server is started. It outlives these
// processes, and a run of exec around them (see process/descendants.hpp). A server whose socket was
// removed is ended, and started again with its locks. Throws Error (config) if the directory is not
// private, or another server has that path (see ServerProcess); Unavailable, Interrupted.
[[nodiscard]] Fd connect_local(const std::string& directory, const Deadline& deadline);

// Returns the path of that server's socket. Starts no server, and does not check that one runs.
// Throws Error (config) if the directory does not exist or is not private.
[[nodiscard]] std::string local_socket(const std::string& directory);

// Returns what tells the socket of that path now from every other socket, or "" if there is none. A
// connection that was made while the identity was another one is to a server that others do not
// use.
[[nodiscard]] std::string socket_identity(const std::string& directory);

}  // namespace rlock::redis
