// TLS on top of a socket, by the TLS module.
#pragma once

#include <memory>

#include "redis/socket.hpp"
#include "redis/stream.hpp"
#include "redis/url.hpp"

namespace rlock::redis {

// Connects to a tls endpoint and verifies the server. Throws Unavailable (the message does not name
// the server), Interrupted, TlsRefused if one side refuses the other, Error (config) if a
// file cannot be used or this build has no TLS, ProtocolError if the server does not speak TLS.
[[nodiscard]] std::unique_ptr<Stream> connect_tls(const Endpoint& endpoint,
                                                  const Patience& patience);

}  // namespace rlock::redis
