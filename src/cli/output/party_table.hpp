// The holders and the waiters of a lock as tables.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "lock/inspection/snapshot.hpp"

namespace rlock::cli {

// Return a table without the columns of which nothing is known, at most `room` columns wide if that
// is given. People paste the owner: where it finds no room, it stands below the rest, in full.
[[nodiscard]] std::string holders_table(const lock::Snapshot& snapshot,
                                        std::optional<std::size_t> room);
[[nodiscard]] std::string waiters_table(const lock::Snapshot& snapshot,
                                        std::optional<std::size_t> room);

}  // namespace rlock::cli
