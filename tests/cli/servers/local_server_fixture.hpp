// A directory for a private server of `local:`.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include <doctest/doctest.h>

#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/words.hpp"

namespace rlock::test::local {

// The processes whose command line names `directory`: its servers (their environment is empty).
inline std::vector<pid_t> servers_in(const std::string& directory) {
  std::vector<pid_t> found;
  for (const pid_t pid : processes_with(directory + "/redis.sock")) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    std::getline(file, name);
    if (has(name, "server")) found.push_back(pid);
  }
  return found;
}

// A directory of this test, gone at its end with the servers in it.
class Place {
 public:
  Place() {
    std::string path = "/tmp/rlock-local-XXXXXX";
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    root_ = path;
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    kill_processes_with(root_);
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  // Not there yet.
  [[nodiscard]] std::string directory() const { return root_ + "/server"; }
  [[nodiscard]] std::string url() const { return "local:" + directory(); }
  [[nodiscard]] const std::string& root() const { return root_; }

 private:
  std::string root_;
};

inline Words echo_argv(const std::string& url) {
  return rlock_argv("exec", "-r", url, "job", "--", "echo", "ran");
}

inline void check_ran(const Result& result) {
  CAPTURE(result.err);
  CHECK(result.status == 0);
  CHECK(result.out == "ran\n");
  CHECK(result.err.empty());
}

}  // namespace rlock::test::local
