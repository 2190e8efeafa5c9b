// list, and what it lists.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/foreign_owner.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

namespace rlock::test::lists {

inline const std::string k_header = "NAME";

inline Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

inline Result list_with(const std::string& url, const Words& words) {
  return run(rlock_argv("list", "-r", url, words));
}

// The lines of a list that goes well, and says nothing.
inline Words list(const Server& server, const Words& words = {}) {
  const Result result = list_with(server.unix_url(), words);
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  return lines_of(result.out);
}

// The names in the lines of a table, without its titles.
inline Words names_in(const Words& lines) {
  Words names;
  for (const std::string& line : lines) names.push_back(line.substr(0, line.find(' ')));
  if (!names.empty() && names[0] == k_header) names.erase(names.begin());
  return names;
}

inline void hold(const Server& server, const std::string& name,
                 const std::string& owner = k_foreign_owner) {
  server.command({"HSET", name, owner, "1"});
  server.command({"PEXPIRE", name, "3599000"});
}

// `count` keys, a million at the most, that no lock has anything to do with.
inline void fill(const Server& server, int count,
                 const std::string& command = "'set', 'key:' .. i, 'x'") {
  constexpr int k_chunk = 50'000;
  for (int from = 1; from <= count; from += k_chunk) {
    server.command({"EVAL", "for i = ARGV[1], ARGV[2] do redis.call(" + command + ") end", "0",
                    std::to_string(from), std::to_string(std::min(count, from + k_chunk - 1))});
  }
}

}  // namespace rlock::test::lists
