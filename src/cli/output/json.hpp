// The values of which short JSON is made: members stay in the order in which they were added. What
// is long is written by json_writer.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/output/problem_text.hpp"
#include "lock/inspection/snapshot.hpp"

namespace rlock::cli {

using Json = nlohmann::ordered_json;

// Returns `text` as UTF-8 (see to_utf8); null if it is empty.
[[nodiscard]] Json text_or_null(const std::string& text);

// Returns null for 0, which means that nothing is known.
[[nodiscard]] Json number_or_null(std::int64_t number);

template <typename Value>
[[nodiscard]] Json value_or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Returns the value as a line, with its newline. What could move a cursor or hide text is written
// as \uNNNN.
[[nodiscard]] std::string to_line(const Json& json);

// Returns how many permits there are, and how many are available.
[[nodiscard]] Json permits_json(const lock::Snapshot::Permits& permits);

// Adds the members role, replica_of and data_age_ms: of the server, each null if it is not known.
void add_role(Json& json, const std::optional<lock::Replication>& replication);

// Returns the problems as an array.
[[nodiscard]] Json problems_json(const std::vector<ProblemText>& problems);

// Adds the members owner, host, pid, command and user, each null if it is not known.
void add_party(Json& json, const lock::Party& party);

}  // namespace rlock::cli
