// Shells that hold locks by `rlock acquire`, and the watchdogs in the background.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"

namespace rlock::test {

// Files to tell shell scripts to go on. In a script, `rlock` is the program under test, and
// `await NAME` waits for go(NAME).
struct Shells {
  explicit Shells(const Server& server) : Shells(server.directory(), server.unix_url()) {}
  Shells(const std::string& where, const std::string& server) : directory(where), url(server) {
    std::ofstream(directory + "/lib.sh")
        << "rlock() { \"$RLOCK\" \"$@\"; }\n"
           "await() { while [ ! -e \"$DIR/$1\" ]; do sleep 0.1; done; }\n";
  }

  [[nodiscard]] ProcessOptions options() const {
    return {.env = {{"RLOCK", rlock_program()}, {"RLOCK_REDIS", url}, {"DIR", directory}}};
  }
  [[nodiscard]] std::vector<std::string> argv(const std::string& script,
                                              const std::string& shell = "sh") const {
    return {shell, "-c", ". " + directory + "/lib.sh\n" + script};
  }
  void go(const std::string& name) const { std::ofstream(directory + "/" + name) << "go"; }

  // The processes of these shells that call themselves so.
  [[nodiscard]] std::vector<pid_t> processes_named(const std::string& wanted) const {
    std::vector<pid_t> found;
    for (const pid_t pid : processes_with(directory)) {
      std::string name;
      std::ifstream("/proc/" + std::to_string(pid) + "/comm") >> name;
      if (name == wanted) found.push_back(pid);
    }
    return found;
  }
  // The watchdogs of locks that these shells hold.
  [[nodiscard]] std::vector<pid_t> watchdogs() const { return processes_named("lock-watchdog"); }
  [[nodiscard]] bool watchdogs_end() const {
    return wait_until([&] { return watchdogs().empty(); });
  }

  std::string directory;
  std::string url;
};

// A lock that only a release can end while a test runs.
inline const std::string k_take = "rlock acquire --lease 1h ";

inline bool comes_free(const Server& server, const std::string& name = "job") {
  return wait_until([&] { return server.command({"EXISTS", name}) == "0"; });
}

}  // namespace rlock::test
