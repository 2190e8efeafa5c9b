// What `rlock list` shows of a lock: a row of a table, or a line of JSON.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/output/paint.hpp"
#include "cli/output/problem_text.hpp"
#include "lock/inspection/snapshot.hpp"

namespace rlock::cli {

// The cells of each row, by the name of the lock.
using ListRows = std::map<std::string, std::vector<std::string>>;

// Returns the cells of a lock's row, for list_table. State and problems are painted.
[[nodiscard]] std::vector<std::string> list_cells(const lock::Snapshot& snapshot,
                                                  const Paint& paint);

// Returns the rows as a table, each line with a newline and none wider than `room` columns, if that
// is given.
[[nodiscard]] std::string list_table(const ListRows& rows, std::optional<std::size_t> room);

// Returns a lock, with its `problems`, as a line of JSON, with its newline: a published format
// (rlock-list(1)).
[[nodiscard]] std::string list_json(const lock::Snapshot& snapshot,
                                    const std::vector<ProblemText>& problems);

}  // namespace rlock::cli
