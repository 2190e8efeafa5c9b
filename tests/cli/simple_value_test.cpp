// --kind simple --token: a value that other runs have, too, proves nothing by itself.
#include <string>

#include <doctest/doctest.h>

#include "support/invoke.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

const std::string k_same = " --kind simple --token same --lease 1s job";

// Runs a shell script in which $rlock is the program with the server.
struct Scripts {
  [[nodiscard]] Words sh(const std::string& script) const {
    return {"sh", "-c",
            "rlock=\"'" + rlock_program() + "' -r " + server.unix_url() + "\"; " + script};
  }
  [[nodiscard]] ProcessOptions options() const {
    return {.hold_stdin = true, .cwd = server.directory()};
  }
  // Another run, with the same value, until its stdin ends.
  [[nodiscard]] Words other() const {
    return rlock_argv("exec", "-r", server.unix_url(), "--kind", "simple", "--token", "same",
                      "--lease", "1s", "job", "--", "sh", "-c", "echo other; cat");
  }
  [[nodiscard]] std::string in_file(const std::string& name) const {
    return run({"cat", server.directory() + "/" + name}).out;
  }

  Server server;
};

}  // namespace

TEST_CASE("S5: a run left behind takes no part in another's lock of the same value") {
  const Scripts scripts;
  std::string back = "75\n";
  std::string inner = "exec -n" + k_same;
  SUBCASE("with the value") {}
  SUBCASE("without") {
    inner = "exec -n job";
    back = "76\n";  // it is no plain lock
  }
  SUBCASE("but keeps its own for longer") { inner = "exec -n --at-least 1h" + k_same; }
  Process one(scripts.sh("eval $rlock exec" + k_same +
                         " -- sh -c \\''(until test -e go; do sleep 0.1; done; eval $0 " + inner +
                         " -- touch ran; echo $? >back) >/dev/null 2>&1 &'\\' \"\\\"$rlock\\\"\""),
              scripts.options());
  CHECK(one.wait_exit().status == 0);
  Process other(scripts.other(), {.hold_stdin = true});
  other.wait_for_stdout("other");
  run({"touch", scripts.server.directory() + "/go"});
  CHECK(wait_until([&] { return scripts.in_file("back") == back; }));
  CHECK(scripts.in_file("ran").empty());
  CHECK(std::stol(scripts.server.command({"PTTL", "job"})) <= 1000);
  other.close_stdin();
  CHECK(other.wait().status == 0);
}

TEST_CASE("S4: a nested run whose outer run has ended is told, whoever has the same value now") {
  const Scripts scripts;
  Process one(scripts.sh("eval $rlock exec" + k_same + " -- sh -c \\''(eval $0 exec --at-least 1h" +
                         k_same +
                         " -- sh -c \"\\\"touch inner; sleep 300\\\"\"; echo $? >back) "
                         ">/dev/null 2>&1 & until test -e inner; do sleep 0.1; done'\\' "
                         "\"\\\"$rlock\\\"\""),
              scripts.options());
  CHECK(one.wait_exit().status == 0);
  Process other(scripts.other(), {.hold_stdin = true});
  other.wait_for_stdout("other");
  CHECK(wait_until([&] { return scripts.in_file("back") == "79\n"; }));
  CHECK(std::stol(scripts.server.command({"PTTL", "job"})) <= 1000);
  CHECK(other.running());
  other.close_stdin();
  CHECK(other.wait().status == 0);
}

TEST_CASE("S5: a shell that has lost its lock gives back no other one of the same value") {
  const Scripts scripts;
  Process shell(scripts.sh("eval \"$(eval $rlock acquire --export --no-watchdog" + k_same +
                           ")\"; echo got; read x; eval $rlock exec -n job -- echo in; echo $?; "
                           "eval $rlock renew job; echo $?; eval $rlock unlock job; echo $?"),
                scripts.options());
  shell.wait_for_stdout("got");
  scripts.server.command({"DEL", "job"});
  Process other(scripts.other(), {.hold_stdin = true});
  other.wait_for_stdout("other");
  shell.close_stdin();
  CHECK(shell.wait().out == "got\n76\n1\n1\n");
  CHECK(scripts.server.command({"GET", "job"}) == "same");
  other.close_stdin();
  CHECK(other.wait().status == 0);
}

TEST_CASE("a shell with a given value nests, renews and gives back") {
  const Scripts scripts;
  const std::string take = "eval \"$(eval $rlock acquire --no-watchdog --export ";
  const Result result = run(scripts.sh(
      take + "--kind simple --token same job)\"; eval $rlock exec job -- echo in; " + take +
      "job)\"; eval $rlock unlock job; echo $?; eval $rlock renew job; echo $?; "
      "eval $rlock unlock job; echo $?"));
  CHECK(result.out == "in\n0\n0\n0\n");
  CHECK(result.err.empty());
  CHECK(scripts.server.command({"EXISTS", "job"}) == "0");
}

TEST_CASE("a nested run keeps the lock of a given value for longer than its shell's lease") {
  const Scripts scripts;
  const Result result = run(scripts.sh(
      "eval \"$(eval $rlock acquire --no-watchdog --export --lease 1s --kind simple --token same "
      "job)\"; eval $rlock exec --lease 6s job -- sleep 3; echo $?"));
  CHECK(result.out == "0\n");
  CHECK(result.err.empty());
}
