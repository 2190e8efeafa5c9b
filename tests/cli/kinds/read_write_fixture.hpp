// Runs that read or write.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/process.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

namespace rlock::test::read_write_runs {

inline const std::string k_channel = "redisson_rwlock:{job}";

// A server, and runs of `rlock exec` that hold "job" until their input ends.
struct Setting {
  Server server;

  [[nodiscard]] Words exec_argv(const Words& options) const {
    return rlock_argv("exec", "-r", server.unix_url(), options, "job", "--");
  }
  [[nodiscard]] std::unique_ptr<Process> start(const Words& options) const {
    Words argv = exec_argv(options);
    argv.insert(argv.end(), {"sh", "-c", "echo got; cat > /dev/null"});
    return std::make_unique<Process>(argv, ProcessOptions{.hold_stdin = true});
  }
  [[nodiscard]] std::unique_ptr<Process> held(const Words& options) const {
    auto process = start(options);
    process->wait_for_stdout("got");
    return process;
  }
  [[nodiscard]] Result attempt(const Words& options) const {
    Words argv = exec_argv(options);
    argv.insert(argv.end(), {"echo", "ran"});
    return run(argv);
  }
  [[nodiscard]] int status_of(const char* side) const { return attempt({side, "-n", "-q"}).status; }
  [[nodiscard]] Result rlock(const std::string& command, const Words& options) const {
    return run(rlock_argv(command, "-r", server.unix_url(), options, "job"));
  }
  [[nodiscard]] bool comes_to_wait(int count = 1) const {
    return wait_until([&] { return listeners(server, k_channel) == count; });
  }
  [[nodiscard]] bool clean() const { return comes_to_be_empty(server); }
};

inline void check_end(Process& process, int status = 0) {
  process.close_stdin();
  const Result result = process.wait();
  CHECK(result.status == status);
  if (status == 0) CHECK(result.err.empty());
}

}  // namespace rlock::test::read_write_runs
