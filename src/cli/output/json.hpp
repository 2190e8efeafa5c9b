// The values of which short JSON is made: members stay in the order in which they were added. What
// is long is written by json_writer.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

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

}  // namespace rlock::cli
