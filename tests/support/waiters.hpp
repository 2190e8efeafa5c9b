// Those that wait for a lock on a server: they listen to its channel.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "server.hpp"
#include "wait_until.hpp"
#include "words.hpp"

namespace rlock::test {

// Returns how many connections listen to a channel.
inline long listeners(const Server& server, const std::string& channel) {
  const std::vector<std::string> answer = server.list({"PUBSUB", "NUMSUB", channel});
  return answer.size() == 2 ? std::stol(answer[1]) : 0;
}

// Waits until so many listen to the releases of a lock that has no queue.
inline bool comes_to_wait(const Server& server, const std::string& name = "job", long count = 1) {
  return wait_until(
      [&] { return listeners(server, "redisson_lock__channel:{" + name + "}") == count; });
}

// Waits until so many background processes of rlock acquire keep locks. Each listens first, if at
// all. Then it asks by a second connection.
inline bool are_kept(const Server& server, int count = 1) {
  return wait_until([&] {
    std::istringstream clients(server.command({"CLIENT", "LIST"}));
    int asking = 0;
    for (std::string client; std::getline(clients, client);) {
      if (has(client, "name=rlock") && !has(client, "subscribe")) ++asking;
    }
    return asking >= 2 * count;
  });
}

}  // namespace rlock::test
