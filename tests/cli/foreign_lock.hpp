// A lock that a client of another library holds, so that rlock has to wait for it.
#pragma once

#include <string>

#include "support/foreign_owner.hpp"
#include "support/server.hpp"

namespace rlock::test {

// The foreign owner holds the lock for so many milliseconds; 0: without an expiry.
inline void hold(const Server& server, const std::string& name = "job", int ttl_ms = 600'000) {
  server.command({"HSET", name, k_foreign_owner, "1"});
  if (ttl_ms > 0) server.command({"PEXPIRE", name, std::to_string(ttl_ms)});
}

// The lock becomes free and those that wait for it hear of it, in one step.
inline void release(const Server& server, const std::string& name = "job") {
  server.command({"EVAL",
                  "redis.call('del', KEYS[1]) return redis.call('publish', KEYS[2], ARGV[1])", "2",
                  name, "redisson_lock__channel:{" + name + "}", "0"});
}

}  // namespace rlock::test
