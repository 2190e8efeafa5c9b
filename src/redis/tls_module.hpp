// The TLS module. It is a file of its own, so that runs without TLS do not load it.
#pragma once

#include "tls/module.hpp"

namespace rlock::redis {

// Loads the module, once. Returns null if this build has none. Throws Error (config) if the module
// exists but cannot be used. Thread-safe.
[[nodiscard]] const tls::Module* tls_module();

// Returns whether the module is installed.
[[nodiscard]] bool has_tls_module() noexcept;

}  // namespace rlock::redis
