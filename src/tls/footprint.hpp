// The memory that OpenSSL takes.
#pragma once

#include <openssl/types.h>

namespace rlock::tls {

// Frees what only the handshake needed: the trusted certificates, of which the system may have
// hundreds, and the resident pages of OpenSSL's code and constants. Later steps need few of these
// pages, and the kernel reads them from the file again. `ssl` must have a context of its own.
void give_back_memory(SSL* ssl) noexcept;

}  // namespace rlock::tls
