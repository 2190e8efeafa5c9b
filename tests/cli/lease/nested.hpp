// A run of rlock below another one, whose command notes the inner rlock.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "support/processes.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"

namespace rlock::test {

struct Nested {
  Server server;
  std::string directory = server.directory();
  std::string mark = "inner-" + directory;

  // A command for an inner run, deaf to SIGTERM, that notes the inner rlock's number.
  [[nodiscard]] std::string deaf() const {
    return "trap '' TERM; echo $PPID >" + directory + "/inner; : " + mark +
           "; while :; do sleep 0.02; done";
  }
  [[nodiscard]] pid_t inner() const {
    pid_t pid = 0;
    REQUIRE(wait_until([&] {
      std::ifstream(directory + "/inner") >> pid;
      return pid > 0;
    }));
    return pid;
  }
  // The processes that run the command; each rlock has it in its arguments, too.
  [[nodiscard]] bool command_runs() const {
    const auto found = processes_with(mark);
    return std::any_of(found.begin(), found.end(), [](pid_t pid) {
      std::string name;
      std::ifstream("/proc/" + std::to_string(pid) + "/comm") >> name;
      return name == "sh";
    });
  }
};

}  // namespace rlock::test
