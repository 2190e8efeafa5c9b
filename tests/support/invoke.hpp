// Runs of rlock on one server: `rlock -r URL WORDS`.
#pragma once

#include <string>

#include "process.hpp"
#include "server.hpp"
#include "words.hpp"

namespace rlock::test {

inline Words argv_for(const std::string& url, const Words& words) {
  return rlock_argv("-r", url, words);
}
inline Words argv_for(const Server& server, const Words& words) {
  return argv_for(server.unix_url(), words);
}

// Run to the end.
inline Result invoke(const std::string& url, const Words& words) {
  return run(argv_for(url, words));
}
inline Result invoke(const Server& server, const Words& words) {
  return run(argv_for(server, words));
}

}  // namespace rlock::test
