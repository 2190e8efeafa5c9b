// Commands, and how the tests look at what they say.
#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/process.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

namespace rlock::test::commands {

inline Result invoke(const std::string& url, const Words& words,
                     const ProcessOptions& options = {}) {
  return run(rlock_argv("-r", url, words), options);
}

inline void check_silent(const Result& result, int status) {
  CAPTURE(result.err);
  CHECK(result.status == status);
  CHECK(result.err.empty());
  CHECK(result.out.empty());
}

// Takes `name` and returns the owner.
inline std::string acquire(const std::string& url, const std::string& name) {
  const Result result = invoke(url, {"acquire", "--no-watchdog", name});
  CAPTURE(result.err);
  REQUIRE(result.status == 0);
  CHECK(result.err.empty());
  REQUIRE(result.out.ends_with('\n'));
  return result.out.substr(0, result.out.size() - 1);
}

inline Words without_latches(const Server& server) {
  Words keys = server.keys();
  std::erase_if(keys,
                [](const std::string& key) { return key.starts_with("redisson_unlock_latch:"); });
  return keys;
}

}  // namespace rlock::test::commands
