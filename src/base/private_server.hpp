// How to recognize the private server of `local:`. It serves all programs of its user on this
// machine, so it does not belong to the program that started it.
#pragma once

namespace rlock {

// The server's descriptor that holds the flock of its working directory.
inline constexpr int k_private_server_lock = 3;
// The file in that directory that contains the server's process ID.
inline constexpr const char* k_private_server_pid = "server.pid";

}  // namespace rlock
