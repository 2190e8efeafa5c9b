// Commands that a server does not serve.
#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/process.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

namespace rlock::test::server_faults {

inline Result invoke(const std::string& url, Words words, const std::string& timeout = "3s") {
  return run(rlock_argv("-r", url, "--timeout", timeout, words));
}

inline void check_refused(const Result& result, int status) {
  CAPTURE(result.err);
  CAPTURE(result.out);
  CHECK(result.status == status);
  CHECK_FALSE(result.signaled);
  CHECK(is_one_message(result.err));
  CHECK(result.out.empty());
}

inline const std::vector<Words> k_commands = {
    {"exec", "job", "--", "echo", "ran"},
    {"exec", "-n", "job", "--", "echo", "ran"},
    {"acquire", "--no-watchdog", "job"},
    {"renew", "--owner", "u:1", "job"},
    {"unlock", "--owner", "u:1", "job"},
    {"unlock", "--force", "-y", "job"},
    {"evict", "job", "u:1"},
    {"inspect-queue", "job"},
    {"inspect-queue", "--json", "job"},
    {"list", "*"},
    {"watch", "job"},
};

// Every command meets the server and is refused with `status`.
inline void check_all_refused(const std::string& url, int status,
                              const std::string& timeout = "3s") {
  for (const Words& words : k_commands) {
    CAPTURE(words[0]);
    CAPTURE(words[1]);
    check_refused(invoke(url, words, timeout), status);
  }
}

// Loads the scripts into the server, so that EVALSHA finds them.
inline void load_scripts(const Server& server) {
  REQUIRE(invoke(server.unix_url(), {"exec", "warm", "--", "true"}).status == 0);
  const Result taken = invoke(server.unix_url(), {"acquire", "--no-watchdog", "warm"});
  const std::string owner = taken.out.substr(0, taken.out.find('\n'));
  REQUIRE(invoke(server.unix_url(), {"renew", "--owner", owner, "warm"}).status == 0);
  REQUIRE(invoke(server.unix_url(), {"unlock", "--force", "-y", "warm"}).status == 0);
  REQUIRE(server.keys().empty());
}

inline std::string acquire(const Server& server, const std::string& name) {
  const Result result = invoke(server.unix_url(), {"acquire", "--no-watchdog", name});
  REQUIRE(result.status == 0);
  return result.out.substr(0, result.out.find('\n'));
}

// Returns how often a server has refused a request with an error of this code.
inline long refusals(const Server& server, const std::string& code) {
  const std::string stats = server.command({"INFO", "errorstats"});
  const std::string key = "errorstat_" + code + ":count=";
  const std::size_t at = stats.find(key);
  return at == std::string::npos ? 0 : std::stol(stats.substr(at + key.size()));
}

}  // namespace rlock::test::server_faults
