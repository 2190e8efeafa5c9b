// Splits a text into words.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace rlock::cli {

// Returns the words of `text`, which white space separates.
[[nodiscard]] inline std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

}  // namespace rlock::cli
