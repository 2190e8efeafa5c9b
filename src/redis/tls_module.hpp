// The TLS module: a file of its own, so that who does not use TLS does not pay for loading it.
#pragma once

#include "tls/module.hpp"

namespace rlock::redis {

// Loads the module, once. Returns nothing if this build has none. Throws Error (config) if it is
// there and cannot be used. Thread-safe.
[[nodiscard]] const tls::Module* tls_module();

// True if the module is installed.
[[nodiscard]] bool has_tls_module() noexcept;

}  // namespace rlock::redis
