// Holds inside others of the same lock: what they leave in Redis, and what becomes of the time that
// one of them is to be kept for.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/acquire_fixture.hpp"
#include "support/waiters.hpp"

using namespace rlock::test;

namespace {

std::string take(const std::string& options) {
  return "eval \"$(" + k_take + "--export " + options + " job)\" || exit\n";
}

std::string inspect(const Shells& shells) {
  return run(rlock_argv("inspect-queue", "-r", shells.url, "--json", "job")).out;
}

}  // namespace

TEST_CASE("acquire: the end of a nested hold is forgotten with the lock") {
  const Server server;
  const Shells shells(server);
  for (const char* kind : {"", "--fair", "--kind simple", "-s", "-x", "--permits 2"}) {
    CAPTURE(kind);
    const std::string inner = shells.argv(take(kind)).back();
    for (const std::string& end : {std::string(), std::string("\nrlock unlock job")}) {
      CAPTURE(end);
      ProcessOptions options = shells.options();
      options.env["INNER"] = inner + end;
      const Result result =
          run(shells.argv(take(kind) + "for i in 1 2 3; do sh -c \"$INNER\"; done" + end), options);
      CHECK(result.err.empty());
      CHECK(shells.watchdogs_end());
      CHECK(comes_to_be_empty(server));
    }
  }
}

TEST_CASE("acquire: what keeps the holds of a shell does not count as a waiter") {
  const Server server;
  const Shells shells(server);
  Process shell(shells.argv(take("") + take("") + take("") + "echo taken; await end"),
                shells.options());
  shell.wait_for_stdout("taken");
  CHECK(are_kept(server, 3));
  CHECK(has(inspect(shells), "\"listening\":0"));
}

TEST_CASE("acquire: a waiter counts also where only a nested hold goes on") {
  const Server server;
  const Shells shells(server);
  ProcessOptions options = shells.options();
  options.env["INNER"] = shells.argv(take("") + ": >\"$DIR/in\"; await end").back();
  Process outer(shells.argv(take("") + "sh -c \"$INNER\" >&- 2>&- & await in"), options);
  CHECK(outer.wait().status == 0);
  CHECK(wait_until([&] { return server.command({"HVALS", "job"}) == "1"; }));
  Process waiter(rlock_argv("exec", "-r", shells.url, "job", "--", "true"));
  CHECK(comes_to_wait(server));
  CHECK(has(inspect(shells), "\"listening\":1"));
  shells.go("end");
  CHECK(waiter.wait().status == 0);
  CHECK(shells.watchdogs_end());
}

TEST_CASE("acquire: --at-least of a run outlasts what its command has acquired") {
  for (const std::string kind : {"", "-s", "-x"}) {
    for (const char* end : {"", "\nrlock unlock job"}) {
      CAPTURE(kind);
      CAPTURE(end);
      const Server server;
      const Shells shells(server);
      std::vector<std::string> argv =
          rlock_argv("exec", "-r", shells.url, "--at-least", "10m", "--lease", "20s");
      if (!kind.empty()) argv.push_back(kind);
      argv.insert(argv.end(), {"job", "--"});
      for (const std::string& word : shells.argv(take(kind) + "echo in" + end))
        argv.push_back(word);
      const Result result = run(argv, shells.options());
      CHECK(result.status == 0);
      CHECK(result.out == "in\n");
      CHECK(shells.watchdogs_end());
      CHECK(pttl(server) > 500'000);
      CHECK(pttl(server) <= 3'600'000);
    }
  }
}

TEST_CASE("--at-least: of nested runs, the latest time decides for every kind of lock") {
  std::string outer_time;
  std::string inner_time = "--at-least 50ms";
  std::string rest;
  SUBCASE("that of the inner one") { inner_time = "--at-least 1h"; }
  SUBCASE("that of the outer one") { outer_time = "--at-least 1h"; }
  SUBCASE("which has passed") { rest = "; sleep 0.06"; }
  const bool is_kept = rest.empty();
  for (const std::string kind : {"--fair ", "-s ", "-x ", "--kind simple ", "--permits 1 "}) {
    CAPTURE(kind);
    const Server server;
    const Shells shells(server);
    const Result result =
        run(shells.argv("rlock exec " + kind + outer_time + " job -- sh -c '\"$RLOCK\" exec " +
                        kind + inner_time + " job -- true; echo $?" + rest + "'; echo $?"),
            shells.options());
    CHECK(result.out == "0\n0\n");
    // Readers do not exclude readers.
    const std::string other = kind == "-s " ? "-x " : kind;
    CHECK(run(shells.argv("rlock exec -n -q " + other + "job -- true"), shells.options()).status ==
          (is_kept ? 75 : 0));
    if (!is_kept) continue;
    const long long left = pttl(server);
    CHECK(left > 3'500'000);
    CHECK(left <= (kind == "--permits 1 " ? 3'605'000 : 3'600'000));
  }
}
