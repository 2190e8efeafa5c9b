// A server with a lock that has a problem, looked at while another server is the default; and the
// hints that are printed of it.
#pragma once

#include <map>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "cli/inspection/remedies_fixture.hpp"
#include "support/cluster.hpp"
#include "support/foreign_owner.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

namespace rlock::test::remedies {

inline const std::string k_queue = "redisson_lock_queue:{job}";
inline const std::string k_scores = "redisson_lock_timeout:{job}";
inline const std::string k_info = "rlock_info:{job}";
inline const std::string k_permits = "{job}:timeout";

// The hints in what doctor has printed, by their codes; empty where there is none.
inline std::multimap<std::string, std::string> hints_in(const std::string& out) {
  std::multimap<std::string, std::string> hints;
  std::istringstream lines(out);
  auto last = hints.end();
  for (std::string line; std::getline(lines, line);) {
    const std::string mark = "    hint: ";
    for (const std::string level : {": problem: ", ": note: "}) {
      const std::size_t at = line.find(level);
      if (line.starts_with(" ") || at == std::string::npos) continue;
      last = hints.emplace(line.substr(at + level.size()), "");
    }
    if (line.starts_with(mark) && last != hints.end()) last->second = line.substr(mark.size());
  }
  return hints;
}

// Looks at the server, and returns the hint that comes with this code.
inline std::string hint_of(const std::string& code, const Words& options,
                           const EnvChanges& env = {}) {
  Words words = options;
  words.insert(words.end(), {"doctor", "job"});
  const Result result = invoke(words, env);
  CAPTURE(code);
  CAPTURE(result.out);
  CAPTURE(result.err);
  const auto hints = hints_in(result.out);
  REQUIRE(hints.contains(code));
  CHECK_FALSE(has(result.out, k_password));
  return hints.find(code)->second;
}

inline std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

// A guarded server, and the lock "job" on it.
struct Ward : Guarded {
  Words options{"--user", "bob", "-r", "redis://" + host + "/3"};
  EnvChanges password{{"RLOCK_PASSWORD", k_password}};

  [[nodiscard]] std::string hint(const std::string& code) const {
    return hint_of(code, options, password);
  }
  void paste_hint(const std::string& code, int status = 0) const {
    paste(hint(code), password, status);
  }
  // Pastes the hint, after which nothing more is told.
  void mend(const std::string& code, int status = 0) const {
    paste_hint(code, status);
    CHECK_FALSE(tells(code));
  }
  [[nodiscard]] bool tells(const std::string& code) const {
    Words words = options;
    words.insert(words.end(), {"doctor", "job"});
    const Result result = invoke(words, password);
    CAPTURE(result.out);
    return hints_in(result.out).contains(code);
  }
  // The hint is for people, and no command.
  void advise(const std::string& code) const {
    const std::string text = hint(code);
    CHECK_FALSE(text.empty());
    CHECK_FALSE(has(text, "redis-cli"));
    CHECK_FALSE(has(text, "rlock -"));
  }
  void hold() const {
    command({"HSET", "job", k_foreign_owner, "1"});
    command({"PEXPIRE", "job", "600000"});
  }
  void make_semaphore(const std::string& available, const std::string& told) const {
    command({"SET", "job", available, "PX", "600000"});
    command({"HSET", k_info, "permits", told});
    command({"PEXPIRE", k_info, "600000"});
  }
};

// Somebody who waits for a message.
class Sleeper {
 public:
  Sleeper(const Ward& ward, const std::string& channel) : connection_(ward.server.connect()) {
    connection_.call({"SUBSCRIBE", channel});
  }
  [[nodiscard]] bool is_woken() { return connection_.call({"PING"}).at(0) == "message"; }

 private:
  RespClient connection_;
};

}  // namespace rlock::test::remedies
