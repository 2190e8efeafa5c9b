// Whether two URLs name one server, as far as can be told without asking anybody.
#pragma once

#include "redis/url.hpp"

namespace rlock::redis {

// possible: only their answers can tell.
enum class Likeness { different, possible, same };

// Compares two endpoints that are a single server each. Looks at the sockets of this machine, but
// no name up: that may take its time.
[[nodiscard]] Likeness compare(const Endpoint& one, const Endpoint& other);

}  // namespace rlock::redis
