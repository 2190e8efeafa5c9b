// What is in a file.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

namespace rlock::test {

// Returns what is in the file; nothing when it cannot be read.
[[nodiscard]] inline std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace rlock::test
