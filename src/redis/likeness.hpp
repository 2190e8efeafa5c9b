// Whether two URLs name the same server, as far as rlock can say without asking a server.
#pragma once

#include "redis/url.hpp"

namespace rlock::redis {

// possible: only the answers of the servers can show it.
enum class Likeness { different, possible, same };

// Compares two endpoints that are a single server each. Looks at the sockets of this machine, but
// looks up no name, which may take long.
[[nodiscard]] Likeness compare(const Endpoint& one, const Endpoint& other);

}  // namespace rlock::redis
