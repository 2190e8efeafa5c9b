// What a server does, or may do, to the locks on it.
#pragma once

#include <vector>

#include "lock/inspection/server_facts.hpp"
#include "lock/inspection/snapshot.hpp"

namespace rlock::lock {

// A problem needs somebody to act; a note is what one should know.
enum class Level { problem, note };

struct Finding {
  Level level = Level::problem;
  Problem problem;
};

// Returns what is to be said about a server.
[[nodiscard]] std::vector<Finding> find_server_problems(const ServerFacts& facts);

}  // namespace rlock::lock
