// A snapshot as people read it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/output/problem_text.hpp"
#include "lock/inspection/snapshot.hpp"

namespace rlock::cli {

enum class Detail { people, raw };  // raw: what the keys hold, besides

// Returns "1 of 3 permits available".
[[nodiscard]] std::string describe_permits(const lock::Snapshot::Permits& permits);

// Returns the snapshot, with its `problems` and `notes`, in lines that are harmless for a terminal.
// No line but a command is wider than `room` columns, if that is given; without it nothing is cut.
[[nodiscard]] std::string to_text(const lock::Snapshot& snapshot,
                                  const std::vector<ProblemText>& problems,
                                  std::optional<std::size_t> room, Detail detail,
                                  const std::vector<ProblemText>& notes = {});

}  // namespace rlock::cli
