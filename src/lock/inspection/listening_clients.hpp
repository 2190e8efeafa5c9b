// Which processes of rlock listen to a server. The server does not tell what each listens to.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "redis/client.hpp"

namespace rlock::lock {

struct ListeningClient {
  std::string host;
  pid_t pid = 0;
};

// Returns the rlock clients that are subscribed to any channel, of this lock or of another, in the
// order of the host and the process ID. Asks the node that keeps `name`. Returns nothing if the
// user is not allowed to ask. Throws as redis::Client::command.
[[nodiscard]] std::optional<std::vector<ListeningClient>> listening_clients(
    redis::Client& client, const std::string& name);

}  // namespace rlock::lock
