// The memory that OpenSSL takes.
#pragma once

#include <openssl/types.h>

namespace rlock::tls {

// Gives back what only the handshake needed: the trusted certificates, of which the system may have
// hundreds, and the pages of OpenSSL's code and constants that are resident. What comes after needs
// few of those, and they come back from the file as they are needed. `ssl` has a context of its
// own.
void give_back_memory(SSL* ssl) noexcept;

}  // namespace rlock::tls
