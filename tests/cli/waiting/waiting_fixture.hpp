// Waiters, and what they leave.
#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/process.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

namespace rlock::test::waits {

inline std::string channel(const std::string& name) {
  return "redisson_lock__channel:{" + name + "}";
}

inline Words exec_argv(const std::string& url, const std::string& name) {
  return rlock_argv("exec", "-r", url, name, "--", "echo", "got");
}

inline void check_got(Process& waiter) {
  const Result result = waiter.wait();
  CAPTURE(result.err);
  CHECK(result.status == 0);
  CHECK(result.out == "got\n");
  CHECK(result.err.empty());
}

// No lock is left. A request that was sent twice leaves the note that it was done for a while.
inline void check_free(const Server& server) {
  for (const std::string& key : server.keys()) {
    CAPTURE(key);
    CHECK(key.starts_with("redisson_unlock_latch:"));
    CHECK(server.command({"PTTL", key}) != "-1");
  }
}

}  // namespace rlock::test::waits
