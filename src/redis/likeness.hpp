// Whether two URLs name the same server, as far as rlock can say without asking a server.
#pragma once

#include "redis/url.hpp"

namespace rlock::redis {

// possible: only the answers of the servers can show it.
enum class Likeness { different, possible, same };

// Compares two single servers. Looks at the sockets of this machine, but looks up no name.
[[nodiscard]] Likeness compare(const Endpoint& one, const Endpoint& other);

}  // namespace rlock::redis
