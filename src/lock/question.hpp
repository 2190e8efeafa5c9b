// What the server is asked about a lock, in a script.
#pragma once

#include <string>

#include "base/clock.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

// How long the server remembers a request: longer than one can be under way.
inline constexpr Milliseconds k_remember{30'000};

// Whether those who wait are told that the lock is free.
enum class Wake { no, yes };

// Which script, with which keys and arguments.
struct Question {
  const redis::Script& script;
  redis::ScriptArgs call;
};

[[nodiscard]] inline std::string to_argument(Milliseconds span) {
  return std::to_string(span.count());
}

}  // namespace rlock::lock
