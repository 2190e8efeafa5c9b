// What `rlock list` shows of a lock: a row of a table, or a line of JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/output/paint.hpp"
#include "lock/inspection/snapshot.hpp"

namespace rlock::cli {

// What is kept of a snapshot: a queue can be long, and the locks many.
struct ListRow {
  explicit ListRow(const lock::Snapshot& snapshot);

  std::string name;
  std::string kind;  // empty: nobody can tell
  bool held;
  bool is_any_string;                  // as in a snapshot
  std::optional<std::int64_t> ttl_ms;  // nothing: free; -1: no expiry
  std::optional<lock::Party> holder;   // the first
  std::size_t holders;
  std::optional<std::size_t> waiters;    // nothing: nobody can tell
  std::optional<std::size_t> listening;  // among them, without a queue
  std::optional<lock::Snapshot::Permits> permits;
  std::vector<std::string> problems;  // their codes
};

// Returns the rows as a table, each line with a newline and none wider than `room` columns, if that
// is given. States and problems are painted.
[[nodiscard]] std::string to_table(const std::vector<ListRow>& rows,
                                   std::optional<std::size_t> room, const Paint& paint);

// Returns a row as one line of JSON, without a newline: a published format (rlock-list(1)).
[[nodiscard]] std::string to_json(const ListRow& row);

}  // namespace rlock::cli
