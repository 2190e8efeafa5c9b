// How OpenSSL reads and writes a socket here.
#pragma once

#include <openssl/types.h>

namespace rlock::tls {

// Returns a BIO on a non-blocking socket, or null if there is no memory. The caller still owns the
// socket. Unlike OpenSSL's own BIO, it never raises SIGPIPE.
[[nodiscard]] BIO* new_socket_bio(int fd) noexcept;

}  // namespace rlock::tls
