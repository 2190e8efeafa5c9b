// What a server tells of itself, as far as locks depend on it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

struct ServerFacts {
  std::map<std::string, std::string> info;       // as INFO has it; empty: not permitted
  std::optional<Milliseconds> clock_difference;  // how far the server's clock is before this host's
  std::vector<std::string> lacking;  // commands and keys that the user may not use, but locks need
};

// Asks the server. `name`: of the lock whose keys the user is to be able to use, if it is about
// one. Throws as redis::Client::run.
[[nodiscard]] ServerFacts read_server_facts(redis::Client& client,
                                            const std::optional<std::string>& name);

}  // namespace rlock::lock
