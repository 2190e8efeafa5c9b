// Runs that take a string lock.
#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "support/invoke.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

namespace rlock::test::simples {

// Returns the words for `rlock exec --kind simple` with these options, of a command that says that
// it runs, and does so until its stdin ends.
inline Words held(Words options = {}, const std::string& name = "job") {
  options.insert(options.begin(), {"exec", "--kind", "simple"});
  options.insert(options.end(), {name, "--", "sh", "-c", "echo ready; cat >/dev/null; echo done"});
  return options;
}

inline std::string acquire(const Server& server, Words options = {}) {
  options.insert(options.begin(), {"acquire", "--kind", "simple", "--no-watchdog"});
  options.emplace_back("job");
  const Result result = invoke(server, options);
  REQUIRE(result.status == 0);
  return result.out.substr(0, result.out.find('\n'));
}

}  // namespace rlock::test::simples
