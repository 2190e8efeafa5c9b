// A server that was looked at, and the commands that are shown for it. Nobody connects to it.
#pragma once

#include <optional>
#include <string>

#include "cli/output/remedy.hpp"
#include "cli/settings/globals.hpp"
#include "redis/client.hpp"
#include "unit/scratch.hpp"

namespace rlock::test {

// No setting but the server's URL.
class SparseSettings {
 public:
  SparseSettings() {
    for (const char* name : {"RLOCK_REDIS", "RLOCK_USER", "RLOCK_PASSWORD", "REDISCLI_AUTH",
                             "RLOCK_CONFIG", "RLOCK_TLS_CA", "RLOCK_TLS_CERT", "RLOCK_TLS_KEY"}) {
      environment_.set(name, std::nullopt);
    }
    environment_.set("XDG_CONFIG_HOME", scratch_.path());
    globals.redis = {"redis://db.example.org:7000/3"};
  }

  cli::Globals globals;

 private:
  Scratch scratch_;
  Environment environment_;
};

struct AskedServer : SparseSettings {
  redis::Client client{globals.client_options("doctor")};
  cli::Remedies remedies{globals, client};
};

}  // namespace rlock::test
