// What tells the private server of `local:`, which serves everybody on this machine, from a program
// that is its starter's own.
#pragma once

namespace rlock {

// With this descriptor it holds the flock of the directory that it works in.
inline constexpr int k_private_server_lock = 3;
// The file in that directory in which it has written its number.
inline constexpr const char* k_private_server_pid = "server.pid";

}  // namespace rlock
