// Runs on several servers, to which something happens.
#pragma once

#include <string>
#include <vector>

namespace rlock::test::redlock_faults {

// A command that says that it runs, and runs until its stdin ends.
inline const std::vector<std::string> k_until_told = {"job", "--", "sh", "-c",
                                                      "echo in; read x; echo out"};

inline std::vector<std::string> with(std::vector<std::string> options,
                                     const std::vector<std::string>& rest) {
  options.insert(options.end(), rest.begin(), rest.end());
  return options;
}

}  // namespace rlock::test::redlock_faults
