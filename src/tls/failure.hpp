// Says in words, and in one of four kinds, why OpenSSL has failed.
#pragma once

#include <openssl/types.h>

#include "tls/module.hpp"

namespace rlock::tls {

enum class Phase { handshake, data };

// Sets kind and text, as by printf; a text that is too long is cut.
[[gnu::format(printf, 3, 4)]] void tell(Failure& failure, Failure::Kind kind, const char* format,
                                        ...) noexcept;

// The same of a file, from OpenSSL's queue of errors: `what` is wrong with it (files), unless there
// was a lack of descriptors or memory (lost).
void tell_of_file(Failure& failure, const char* file, const char* what) noexcept;

// Fills `failure` after a step on `ssl` has failed, from OpenSSL's queue of errors and from
// `system_error`, the errno behind the step. `host`: who the server should have been.
void explain(const SSL* ssl, Phase phase, int system_error, const char* host,
             Failure& failure) noexcept;

}  // namespace rlock::tls
