// Says why OpenSSL has failed: in words, and as one of four kinds.
#pragma once

#include <openssl/types.h>

#include "tls/module.hpp"

namespace rlock::tls {

enum class Phase { handshake, data };

// Sets the kind, no cause, and the text, which is formatted as by printf. A text that is too long
// is cut.
[[gnu::format(printf, 3, 4)]] void tell(Failure& failure, Failure::Kind kind, const char* format,
                                        ...) noexcept;

// The same for a file, from OpenSSL's queue of errors. The kind is `files`, and the text says that
// `what` is wrong with the file. If descriptors or memory were lacking, the kind is `lost`.
void tell_of_file(Failure& failure, const char* file, const char* what) noexcept;

// Fills `failure` after a step on `ssl` has failed, from OpenSSL's queue of errors and from
// `system_error`, the errno after the step. `host`: the host that the server had to prove to be.
void explain(const SSL* ssl, Phase phase, int system_error, const char* host,
             Failure& failure) noexcept;

}  // namespace rlock::tls
