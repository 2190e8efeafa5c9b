// --kind simple --token: a value that other runs have, too, proves nothing by itself.
#include <filesystem>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "cli/acquire_fixture.hpp"
#include "support/contents.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

const std::string k_same = "--kind simple --token same --lease 3s job";

// The words for a run that holds the lock with this value.
Words holding(const Words& command) {
  return rlock_argv("exec", "--kind", "simple", "--token", "same", "--lease", "3s", "job", "--",
                    command);
}

// Another run with the same value.
struct Other {
  explicit Other(ProcessOptions options) : process(start(std::move(options))) {
    process.wait_for_stdout("other");
  }
  static Process start(ProcessOptions options) {
    options.hold_stdin = true;
    return Process(holding({"sh", "-c", "echo other; cat"}), options);
  }
  // Ends it, and checks that it has not noticed anything.
  void end() {
    CHECK(process.running());
    process.close_stdin();
    CHECK(process.wait().status == 0);
  }
  Process process;
};

}  // namespace

TEST_CASE("S5: a run left behind takes no part in another's lock of the same value") {
  const Server server;
  const Shells shells(server);
  std::string inner = "exec -n " + k_same;
  std::string back = "75\n";
  SUBCASE("with the value") {}
  SUBCASE("without") {
    inner = "exec -n job";
    back = "76\n";  // it is no plain lock
  }
  SUBCASE("but keeps its own for longer") { inner = "exec -n --at-least 1h " + k_same; }
  const Words command = shells.argv("(await go; rlock " + inner +
                                    " -- touch $DIR/ran; echo $? >$DIR/back) >/dev/null 2>&1 &");
  CHECK(run(holding(command), shells.options()).status == 0);
  Other other(shells.options());
  shells.go("go");
  CHECK(wait_until([&] { return contents(shells.directory + "/back") == back; }));
  CHECK_FALSE(std::filesystem::exists(shells.directory + "/ran"));
  CHECK(std::stol(server.command({"PTTL", "job"})) <= 3000);
  other.end();
}

TEST_CASE("S4: a nested run whose outer run has ended is told, whoever has the same value now") {
  const Server server;
  const Shells shells(server);
  const Words command =
      shells.argv("(rlock exec --at-least 1h " + k_same +
                  " -- sh -c 'touch $DIR/inner; sleep 300'; echo $? >$DIR/back) >/dev/null 2>&1 & "
                  "await inner");
  CHECK(run(holding(command), shells.options()).status == 0);
  Other other(shells.options());
  CHECK(wait_until([&] { return contents(shells.directory + "/back") == "79\n"; }));
  CHECK(std::stol(server.command({"PTTL", "job"})) <= 3000);
  other.end();
}

TEST_CASE("S5: a shell that has lost its lock gives back no other one of the same value") {
  const Server server;
  const Shells shells(server);
  Process shell(shells.argv("eval \"$(rlock acquire --export --no-watchdog " + k_same +
                            ")\"; echo got; await go; rlock exec -n job -- echo in; echo $?; "
                            "rlock renew job; echo $?; rlock unlock job; echo $?"),
                shells.options());
  shell.wait_for_stdout("got");
  server.command({"DEL", "job"});
  Other other(shells.options());
  shells.go("go");
  CHECK(shell.wait().out == "got\n76\n1\n1\n");
  CHECK(server.command({"GET", "job"}) == "same");
  other.end();
}

TEST_CASE("a shell with a given value nests, renews and gives back") {
  const Server server;
  const Shells shells(server);
  const Result result =
      run(shells.argv(
              "eval \"$(rlock acquire --no-watchdog --export --kind simple --token same job)\"; "
              "rlock exec job -- echo in; "
              "eval \"$(rlock acquire --no-watchdog --export job)\"; "
              "rlock unlock job; echo $?; rlock renew job; echo $?; rlock unlock job; echo $?"),
          shells.options());
  CHECK(result.out == "in\n0\n0\n0\n");
  CHECK(result.err.empty());
  CHECK(server.command({"EXISTS", "job"}) == "0");
}

TEST_CASE("a nested run keeps the lock of a given value for longer than its shell's lease") {
  const Server server;
  const Shells shells(server);
  const Result result = run(shells.argv("eval \"$(rlock acquire --no-watchdog --export " + k_same +
                                        ")\"; rlock exec --lease 6s job -- sleep 3; echo $?"),
                            shells.options());
  CHECK(result.out == "0\n");
  CHECK(result.err.empty());
}

TEST_CASE("S6: a hold that was given back stays so when somebody breaks the lock that it keeps") {
  Server server;
  Proxy proxy(server.port());
  const std::string latches = "redisson_unlock_latch:{job}:*";
  proxy.cut_after_next_request("redisson_unlock_latch:");
  const Result result = run(rlock_argv("-r", proxy.url(), "exec", "--kind", "simple", "--token",
                                       "same", "--at-least", "1h", "job", "--", "true"));
  CHECK(result.status == 0);
  CHECK(proxy.cuts() == 1);
  const Words latch = server.list({"KEYS", latches});
  REQUIRE(latch.size() == 1);  // the first request may still come
  const std::string bar = server.command({"GET", latch[0]});
  CHECK(bar == "0");
  REQUIRE(
      run(rlock_argv("-r", server.unix_url(), "unlock", "--force", "-y", "--kind", "simple", "job"))
          .status == 0);
  CHECK(server.command({"GET", latch[0]}) == bar);
}
