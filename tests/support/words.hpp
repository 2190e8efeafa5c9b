// Lists of texts, and what stands in a text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rlock::test {

using Words = std::vector<std::string>;

// Returns shell text that stands for these words, none of which has an apostrophe.
[[nodiscard]] inline std::string quoted(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += "'" + word + "' ";
  return text;
}

// Returns whether `part` stands somewhere in `text`.
[[nodiscard]] inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace rlock::test
