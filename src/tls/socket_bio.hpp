// How OpenSSL reads and writes a socket here.
#pragma once

#include <openssl/types.h>

namespace rlock::tls {

// Returns a BIO on a non-blocking socket, which stays the caller's; null without memory. Unlike
// OpenSSL's own it never raises SIGPIPE.
[[nodiscard]] BIO* new_socket_bio(int fd) noexcept;

}  // namespace rlock::tls
