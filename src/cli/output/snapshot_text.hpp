// A snapshot as people read it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "lock/inspection/snapshot.hpp"

namespace rlock::cli {

enum class Detail { people, raw };  // raw: what the keys hold, besides

// Returns "1 of 3 permits available".
[[nodiscard]] std::string describe_permits(const lock::Snapshot::Permits& permits);

// Returns the snapshot in lines, harmless for a terminal. No line is wider than `room` columns, if
// that is given; without it nothing is cut.
[[nodiscard]] std::string to_text(const lock::Snapshot& snapshot, std::optional<std::size_t> room,
                                  Detail detail);

}  // namespace rlock::cli
