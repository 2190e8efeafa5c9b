// Runs that have permits of the semaphore "job".
#pragma once

#include <deque>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/invoke.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"

namespace rlock::test::permits {

inline const std::string k_permits = "{job}:timeout";
inline const std::string k_channel = "redisson_sc:{job}";

// Returns the words for `rlock exec --permits N` of a command that says that it runs, and does so
// until its stdin ends.
inline Words held(const std::string& permits, Words options = {}) {
  options.insert(options.begin(), {"exec", "--permits", permits});
  options.insert(options.end(), {"job", "--", "sh", "-c", "echo ready; cat >/dev/null; echo done"});
  return options;
}

// Runs that hold permits at once.
class Holders {
 public:
  explicit Holders(const Server& server) : server_(server) {}

  Process& add(const std::string& permits, const Words& options = {}) {
    Process& holder = all_.emplace_back(argv_for(server_, held(permits, options)),
                                        ProcessOptions{.hold_stdin = true});
    holder.wait_for_stdout("ready");
    return holder;
  }

 private:
  const Server& server_;
  std::deque<Process> all_;
};

inline void check_done(Process& holder) {
  holder.close_stdin();
  const Result result = holder.wait();
  CHECK(result.status == 0);
  CHECK(result.out == "ready\ndone\n");
  CHECK(result.err == "");
}

inline std::string out(const Server& server) { return server.command({"ZCARD", k_permits}); }
inline std::string available(const Server& server) { return server.command({"GET", "job"}); }

inline int try_at_once(const Server& server, const std::string& permits) {
  return invoke(server, {"exec", "-q", "-n", "--permits", permits, "job", "--", "true"}).status;
}

inline bool is_awaited(const Server& server) {
  return wait_until([&] { return listeners(server, k_channel) == 1; });
}

// Returns what `rlock LOOK --json job` prints.
inline std::string look(const Server& server, const std::string& command) {
  return invoke(server, {command, "--json", "job"}).out;
}

}  // namespace rlock::test::permits
