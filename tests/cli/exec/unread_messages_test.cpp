// Messages that nobody reads: they change neither a status nor what becomes of a lock.
#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/foreign_owner.hpp"
#include "support/process.hpp"
#include "support/pty.hpp"
#include "support/quorum.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"

using namespace rlock::test;

namespace {

enum class Stderr { pipe_without_reader, full_file };

// Returns the command line that becomes `rlock` with such a stderr; it makes a file in `directory`.
std::vector<std::string> unread(Stderr how, const std::string& directory,
                                const std::vector<std::string>& rlock) {
  const char* script = how == Stderr::full_file
                           ? "rm -f \"$0\"; ulimit -f 0; exec \"$@\" 2>\"$0\""
                           : "rm -f \"$0\"; mkfifo \"$0\"; exec 3<>\"$0\" 4>\"$0\" 3<&-; "
                             "exec \"$@\" 2>&4 4>&-";
  std::vector<std::string> argv = {"sh", "-c", script, directory + "/stderr"};
  argv.insert(argv.end(), rlock.begin(), rlock.end());
  return argv;
}

void hold_without_expiry(const Server& server) {
  server.command({"HSET", "job", k_foreign_owner, "1"});
}

bool waits(const Server& server) {
  return wait_until([&] { return server.command({"PUBSUB", "CHANNELS"}) != ""; });
}

}  // namespace

TEST_CASE("a wait goes on when nobody reads its warning") {
  const Server server;
  const std::vector<std::string> locked = {"-r", server.unix_url(), "-w", "30s", "job"};
  const std::vector<std::string> command = {"--", "echo", "ran"};
  std::vector<std::string> rlock;
  const auto add = [&](const std::vector<std::string>& words) {
    rlock.insert(rlock.end(), words.begin(), words.end());
  };
  SUBCASE("of exec") {
    rlock = rlock_argv("exec");
    add(locked);
    add(command);
  }
  SUBCASE("of exec, for a fair lock") {
    rlock = rlock_argv("exec", "--fair");
    add(locked);
    add(command);
  }
  SUBCASE("of acquire") {
    rlock = rlock_argv("acquire", "--no-watchdog");
    add(locked);
  }
  for (const Stderr how : {Stderr::pipe_without_reader, Stderr::full_file}) {
    CAPTURE(static_cast<int>(how));
    hold_without_expiry(server);
    Process process(unread(how, server.directory(), rlock));
    REQUIRE(waits(server));
    REQUIRE(run(rlock_argv("unlock", "-r", server.unix_url(), "--force", "-y", "job")).status == 0);
    const Result result = process.wait();
    CHECK(result.status == 0);
    CHECK_FALSE(result.out.empty());
    server.command({"DEL", "job"});
  }
}

TEST_CASE("a wait that nobody reads of ends in time, with its own status") {
  const Server server;
  hold_without_expiry(server);
  for (const Stderr how : {Stderr::pipe_without_reader, Stderr::full_file}) {
    const Result result = run(unread(
        how, server.directory(),
        rlock_argv("exec", "-r", server.unix_url(), "-w", "300ms", "job", "--", "echo", "ran")));
    CHECK(result.status == 75);
    CHECK(result.out.empty());
  }
}

TEST_CASE("somebody else's SIGPIPE ends a wait also when nobody reads the warning") {
  const Server server;
  hold_without_expiry(server);
  Process process(unread(Stderr::pipe_without_reader, server.directory(),
                         rlock_argv("exec", "-r", server.unix_url(), "job", "--", "echo", "ran")));
  REQUIRE(waits(server));
  process.signal(SIGPIPE);
  const Result result = process.wait();
  CHECK(result.status == 128 + SIGPIPE);
  CHECK(result.out.empty());
}

TEST_CASE("a warning before the first request, which nobody reads, does not end rlock") {
  Quorum servers(2);
  for (const Stderr how : {Stderr::pipe_without_reader, Stderr::full_file}) {
    const Result result = run(
        unread(how, servers[0].directory(), servers.rlock("exec", {"job", "--", "echo", "ran"})));
    CHECK(result.status == 0);
    CHECK(result.out == "ran\n");
  }
}

TEST_CASE("a status is the same where nobody reads why") {
  const Server server;
  for (const Stderr how : {Stderr::pipe_without_reader, Stderr::full_file}) {
    const auto status = [&](const std::vector<std::string>& rlock) {
      return run(unread(how, server.directory(), rlock)).status;
    };
    CHECK(status(rlock_argv("unlock", "-r", server.unix_url(), "--owner", k_foreign_owner,
                            "job")) == 1);
    CHECK(status(rlock_argv("exec", "job")) == 64);
    CHECK(status(rlock_argv("list", "-r", "unix:///nonexistent")) == 69);
    CHECK(status(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "sh", "-c", "exit 5")) ==
          5);
    CHECK(status(rlock_argv(
              "exec", "-r", server.unix_url(), "job", "--", "sh", "-c",
              "redis-cli -p " + std::to_string(server.port()) + " del job >/dev/null")) == 79);
  }
}

TEST_CASE("a warning does not stop a job in the background of a terminal with tostop") {
  const Server server;
  hold_without_expiry(server);
  Pty shell({"bash", "--norc", "-mc", "stty tostop; \"$0\" \"$@\" & wait $!; echo \"status $?.\"",
             rlock_program(), "exec", "-r", server.unix_url(), "-w", "2s", "job", "--", "echo",
             "ran"});
  shell.expect("held without an expiry");
  shell.expect("status 75.");
}
