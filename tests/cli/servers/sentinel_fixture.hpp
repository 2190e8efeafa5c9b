// A Sentinel group whose masters do not agree, and runs of rlock on it.
#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/invoke.hpp"
#include "support/process.hpp"
#include "support/sentinels.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

namespace rlock::test {

// Runs until its input ends, under `name`.
inline Words cat(const std::string& url, const std::string& name, const std::string& lease) {
  return argv_for(
      url, {"--timeout", "20s", "exec", "--lease", lease, name, "--", "sh", "-c", "echo got; cat"});
}

inline bool has_key(const Server& server, const std::string& key) {
  return server.command({"EXISTS", key}) == "1";
}

// A group whose first master stays one after a failover, as one that is cut off from the sentinels.
struct Stubborn {
  Sentinels group{{.first_args = {"--rename-command", "SLAVEOF", "no-slaveof", "--rename-command",
                                  "REPLICAOF", "no-replicaof"},
                   .sentinel_config = "sentinel failover-timeout mymaster 60000\n",
                   .down_after_ms = 600'000}};
  Server& old = group.server(0);
  Server& fresh = group.server(1);
  std::string url = group.url();

  void fail_over() {
    REQUIRE(wait_until([&] {
      return group.sentinel(0).command({"SENTINEL", "FAILOVER", Sentinels::k_master}) == "OK";
    }));
    REQUIRE(group.wait_for_master(fresh));
    REQUIRE(old.list({"ROLE"}).at(0) == "master");
  }

  // A service takes "job", for an hour.
  void take(Server& server) {
    server.command({"HSET", "job", "service:1", "1"});
    server.command({"PEXPIRE", "job", "3600000"});
  }
};

}  // namespace rlock::test
