// The processes of private servers (`local:`), which are found even if nothing connects to them.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "base/fd.hpp"

namespace rlock::redis {

// A running server that was started for a directory.
struct ServerProcess {
  enum class Where { here, removed, elsewhere };

  pid_t pid;
  Fd handle;  // a pidfd
  Where
      where;  // whether its directory is the one that has the path now, or was removed. Elsewhere:
              // it was renamed, or this process sees another one there (PrivateTmp= of systemd)
  int sockets;  // 0: it is still starting; 1: it listens, and has no clients

  // Asks it to end, which saves its locks.
  void end() const noexcept;
};

// Returns this user's servers whose path is `directory`, in this PID namespace. Without /proc, none
// are found.
[[nodiscard]] std::vector<ServerProcess> find_server_processes(const std::string& directory);

}  // namespace rlock::redis
