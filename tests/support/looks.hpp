// How much rlock's looking at locks costs a server, as the server counts it.
#pragma once

#include <string>

#include "server.hpp"

namespace rlock::test {

// Returns how often a script was run by its SHA1 in all, by what INFO commandstats says.
inline long scripts_in(const std::string& stats) {
  long sum = 0;
  for (const char* command : {"evalsha", "evalsha_ro"}) {
    const std::string key = "cmdstat_" + std::string(command) + ":calls=";
    const std::size_t at = stats.find(key);
    if (at != std::string::npos) sum += std::stol(stats.substr(at + key.size()));
  }
  return sum;
}

// The same of a server.
inline long scripts_run(const Server& server) {
  return scripts_in(server.command({"INFO", "commandstats"}));
}

// Returns how many snapshots the server has given, where nobody runs any other script.
inline long looks(const Server& server) { return scripts_run(server); }

}  // namespace rlock::test
