// The holders and the waiters of a lock as tables.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "lock/inspection/snapshot.hpp"

namespace rlock::cli {

// Return a table, without the columns of which nothing is known.
// No line is wider than `room` columns, if that is given. The owner is what people paste into
// another command: it is whole, below the rest where it finds no room beside it.
[[nodiscard]] std::string holders_table(const lock::Snapshot& snapshot,
                                        std::optional<std::size_t> room);
[[nodiscard]] std::string waiters_table(const lock::Snapshot& snapshot,
                                        std::optional<std::size_t> room);

}  // namespace rlock::cli
