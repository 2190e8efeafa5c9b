// What a session trusts and offers, read from files.
#pragma once

#include <openssl/types.h>

#include "tls/module.hpp"

namespace rlock::tls {

// Returns a context that verifies the server and speaks TLS 1.2 or later, or nothing if `failure`
// says which file is of no use. To be freed by SSL_CTX_free.
[[nodiscard]] SSL_CTX* new_context(const Options& options, Failure& failure) noexcept;

// Makes `ssl` accept nobody but `host`, a name or an address, and tell a server of many names which
// one is meant. Returns false if that cannot be done.
[[nodiscard]] bool expect_host(SSL* ssl, const char* host) noexcept;

}  // namespace rlock::tls
