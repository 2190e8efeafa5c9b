// A snapshot as JSON: a published format (rlock-inspect-queue(1)).
#pragma once

#include <string>

#include "lock/inspection/snapshot.hpp"

namespace rlock::cli {

// Returns the snapshot as one line of JSON. `server` must hold no secrets.
[[nodiscard]] std::string to_json(const lock::Snapshot& snapshot, const std::string& server);

// Returns the name of a kind as in the JSON; nothing has the empty name.
[[nodiscard]] std::string kind_name(lock::Snapshot::Kind kind);

}  // namespace rlock::cli
