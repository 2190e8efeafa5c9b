// A shell with job control, on a terminal.
#pragma once

#include <algorithm>
#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "support/contents.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"

namespace rlock::test {

// An interactive shell in which rlock finds its server, and $DIR is a folder with scripts:
// beat.sh writes lines to $DIR/log as often as it can, and so does its child.
class Shell {
 public:
  Shell()
      : pty_({"bash", "--norc", "-i"}, {.env = {{"PS1", "ready> "},
                                                {"TERM", "dumb"},
                                                {"RLOCK", rlock_program()},
                                                {"RLOCK_REDIS", server.unix_url()},
                                                {"DIR", server.directory()},
                                                {"MARK", mark}},
                                        .columns = 250}) {
    write("beat.sh",
          "beat() { while :; do echo $1 >>$DIR/log; sleep 0.02; done; }\n"
          "beat child | beat parent\n");
    pty_.expect("ready> ");
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(server.directory() + "/" + name) << text;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    return contents(server.directory() + "/" + name);
  }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::ifstream(server.directory() + "/" + name).good();
  }
  // Types a line; `output` must come.
  void line(const std::string& text, const std::string& output = "") {
    pty_.type(text + "\r");
    pty_.expect("\n");  // the echo
    if (!output.empty()) pty_.expect(output);
  }
  void keys(const std::string& text) { pty_.type(text); }
  void hang_up() { pty_.signal(SIGHUP); }
  void expect(const std::string& text) { pty_.expect(text); }
  // The status of the last command.
  void expect_status(int status) {
    line("echo status=$?.", "status=" + std::to_string(status) + ".");
    pty_.expect("ready> ");
  }
  // Waits until both processes of beat.sh write (again).
  void wait_for_beats() const {
    const std::size_t before = read("log").size();
    REQUIRE(wait_until([&] {
      const std::string text = read("log");
      return text.find("child", before) != std::string::npos &&
             text.find("parent", before) != std::string::npos;
    }));
  }
  // All processes of the job: rlock, the command and its children, but not the guardian.
  [[nodiscard]] std::vector<pid_t> job() const {
    std::vector<pid_t> found;
    for (const pid_t pid : processes_in_session(pty_.pid())) {
      if (pid != pty_.pid()) found.push_back(pid);
    }
    return found;
  }
  void stop_with_ctrl_z() {
    pty_.type("\x1a");
    pty_.expect("Stopped");
    pty_.expect("ready> ");
    wait_until_all_stand_still();
  }
  void wait_until_all_stand_still() const {
    // A shell whose vfork child was stopped before its exec is in state D until that goes on.
    CHECK(wait_until([&] {
      const auto all = job();
      return std::all_of(all.begin(), all.end(), [](pid_t pid) {
        const auto stat = process_stat(pid);
        return stat && (stat->state == 'T' || stat->state == 'D');
      });
    }));
    CHECK(job().size() >= 3);
  }
  [[nodiscard]] bool idle() const { return pty_.foreground() == pty_.pid(); }
  // rlock and its guardian have left nothing: no process but the shell, no key.
  [[nodiscard]] bool clean() const {
    return wait_until([&] {
      return processes_with(mark) == std::vector<pid_t>{pty_.pid()} &&
             server.command({"EXISTS", "job"}) == "0";
    });
  }

  Server server;
  const std::string mark = "shell-" + server.directory();

 private:
  Pty pty_;
};

}  // namespace rlock::test
