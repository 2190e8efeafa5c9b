// Lists of texts, and what stands in a text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rlock::test {

using Words = std::vector<std::string>;

// Returns whether `part` stands somewhere in `text`.
[[nodiscard]] inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace rlock::test
