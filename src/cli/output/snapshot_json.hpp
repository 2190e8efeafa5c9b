// A snapshot as JSON: a published format (rlock-inspect-queue(1)).
#pragma once

#include <string>
#include <vector>

#include "cli/output/problem_text.hpp"
#include "lock/inspection/snapshot.hpp"

namespace rlock::cli {

// Returns the snapshot, with its `problems` and `notes`, as one line of JSON. `server` must hold no
// secrets.
[[nodiscard]] std::string to_json(const lock::Snapshot& snapshot, const std::string& server,
                                  const std::vector<ProblemText>& problems,
                                  const std::vector<ProblemText>& notes = {});

// Returns the name of its kind as in the JSON, or "" if there is nothing.
[[nodiscard]] std::string kind_name(const lock::Snapshot& snapshot);

}  // namespace rlock::cli
