// The certificates that a session trusts and sends, read from files.
#pragma once

#include <openssl/types.h>

#include "tls/module.hpp"

namespace rlock::tls {

// Returns a context that verifies the server and speaks TLS 1.2 or later. Returns null if it fails;
// `failure` then says which file cannot be used. Free the context with SSL_CTX_free.
[[nodiscard]] SSL_CTX* new_context(const Options& options, Failure& failure) noexcept;

// Makes `ssl` accept only `host`, a name or an address, and send the name to the server (SNI).
// Returns false if that fails.
[[nodiscard]] bool expect_host(SSL* ssl, const char* host) noexcept;

}  // namespace rlock::tls
