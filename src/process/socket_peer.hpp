// Which socket is the other end of a Unix socket.
#pragma once

#include <optional>
#include <sys/types.h>

namespace rlock::process {

// Returns the inode of the Unix socket to which the socket with this inode is connected, as /proc
// shows both. Returns nothing if there is no such socket in this network namespace, it is not
// connected, or the kernel does not tell (no unix_diag).
[[nodiscard]] std::optional<ino_t> peer_of_socket(ino_t inode);

}  // namespace rlock::process
