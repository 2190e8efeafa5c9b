// doctor, and what it has found.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/process.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

namespace rlock::test::doctors {

// A server of which there is nothing to say but that it is young.
inline ServerOptions durable() {
  return {.args = {"--appendonly", "yes", "--appendfsync", "always"}};
}

inline Result doctor(const Server& server, const Words& words = {}) {
  return run(rlock_argv("doctor", "-r", server.unix_url(), words));
}

// "level code" of each finding about a lock, by --json.
inline Words findings(const Server& server, Words words = {}) {
  words.insert(words.begin(), "--json");
  const std::string out = doctor(server, words).out;
  Words found;
  for (std::size_t start = 0; start < out.size();) {
    const std::size_t end = out.find('\n', start);
    REQUIRE(end != std::string::npos);
    const std::string line = server.command(
        {"EVAL",
         "local f = cjson.decode(ARGV[1]) return f.scope .. ' ' .. f.level .. ' ' .. f.code", "0",
         out.substr(start, end - start)});
    if (line.starts_with("lock ")) found.push_back(line.substr(5));
    start = end + 1;
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The commands that mend, in the order in which they are told.
inline Words remedies(const std::string& out) {
  constexpr std::string_view k_mark = "    hint: ";
  Words commands;
  for (std::size_t at = 0; (at = out.find(k_mark, at)) != std::string::npos;) {
    at += k_mark.size();
    commands.push_back(out.substr(at, out.find('\n', at) - at));
  }
  return commands;
}

// Returns a command that breaks a lock as one that has been confirmed.
inline std::string confirmed(std::string command) {
  const std::string force = "unlock --force";
  const std::size_t at = command.find(force);
  if (at != std::string::npos) command.insert(at + force.size(), " -y");
  return command;
}

}  // namespace rlock::test::doctors
