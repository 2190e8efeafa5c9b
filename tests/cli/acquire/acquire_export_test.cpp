// rlock acquire --export: what it sets, and how a script learns that there is no lock.
#include <algorithm>

#include <doctest/doctest.h>

#include "cli/acquire_fixture.hpp"
#include "cli/beats.hpp"
#include "support/pty.hpp"
#include "support/quorum.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

const std::string k_export = "eval \"$(" + k_take + "--export job)\" || exit\n";

}  // namespace

TEST_CASE("acquire --export: eval sets the environment, in each shell") {
  const Server server;
  const Shells shells(server);
  const std::string name = "it's a \"job\" $x\n`y` \\";
  for (const char* shell : {"bash", "dash", "zsh"}) {
    CAPTURE(shell);
    ProcessOptions options = shells.options();
    options.env["NAME"] = name;
    options.env["RLOCK_TOKEN"] = "12";
    const Result result =
        run(shells.argv("eval \"$(rlock acquire --export \"$NAME\")\" || exit\n"
                        "[ \"$RLOCK_NAME\" = \"$NAME\" ] || echo bad name\n"
                        "echo \"$RLOCK_OWNER|$RLOCK_KIND|${RLOCK_TOKEN-unset}\"\n"
                        "sh -c '\"$RLOCK\" renew \"$NAME\"' && rlock unlock \"$NAME\"; echo $?\n"
                        "rlock unlock \"$NAME\"; echo $?\n"
                        "eval \"$(rlock acquire --export --fence \"$NAME\")\"\n"
                        "[ \"${#RLOCK_TOKEN}\" -gt 10 ] && echo fenced",
                        shell),
            options);
    CHECK(has(result.out, "|reentrant|unset\n0\n1\nfenced\n"));
    CHECK(wait_until([&] { return server.command({"EXISTS", name}) == "0"; }));
  }
}

TEST_CASE("acquire --export: a script that goes on after Ctrl-C knows that it has no lock") {
  const Server server;
  const Shells shells(server);
  server.command({"HSET", "job", "other:1", "1"});
  for (const std::string shell : {"bash", "dash", "zsh"}) {
    CAPTURE(shell);
    Pty pty(shells.argv("trap 'echo trapped' INT; "
                        "eval \"$(rlock acquire --export job)\" || echo failed $?; echo end",
                        shell),
            {.env = shells.options().env});
    REQUIRE(comes_to_wait(server));
    pty.type("\x03");
    pty.expect("failed 130");
    pty.expect("end");
  }
}

TEST_CASE("acquire --export: a failure fails eval, too") {
  const Server server;
  const Shells shells(server);
  server.command({"HSET", "taken", "other:1", "1"});
  server.command({"SET", "string", "x"});
  const Result result = run(
      shells.argv("for words in '-n taken' 'string' '--no-such-option job' '--json job' "
                  "'--lease 1 job' '--pid 0 job' '-r redis://127.0.0.1:1 job' "
                  "'--kind string job'; do\n"
                  "eval \"$(eval \"rlock acquire --export $words\" 2>/dev/null)\"; echo $?; done"),
      shells.options());
  CHECK(result.out == "75\n76\n64\n64\n0\n64\n69\n64\n");
}

TEST_CASE(
    "acquire --export: locks that were given back make room in RLOCK_HELD, those held do not") {
  const Server server;
  const Shells shells(server);
  constexpr std::size_t k_longest = 120'000;
  const std::string run_of_exec = "/0123456789abcdef";
  std::string held;
  for (int i = 0; held.size() < k_longest; ++i)
    held += "other" + std::to_string(i) + "=u:1" + run_of_exec + " ";
  held.resize(held.rfind(' ', k_longest - 2));
  held.resize(held.rfind(' '));
  held += " kept=k:1" + run_of_exec;
  server.command({"HSET", "kept", "k:1", "1"});
  ProcessOptions options = shells.options();
  SUBCASE("locks that were given back") {
    options.env["RLOCK_HELD"] = held;
    const Result result = run(shells.argv(k_export + k_export +
                                          "echo \"$RLOCK_HELD\"; rlock exec -n "
                                          "kept job -- true; echo $?"),
                              options);
    CHECK(result.out.starts_with("kept=k:1" + run_of_exec + " job="));
    CHECK(std::count(result.out.begin(), result.out.end(), '=') == 2);
    CHECK(result.out.ends_with("\n0\n"));
    CHECK(result.err.empty());
  }
  SUBCASE("locks that are held") {
    options.env["RLOCK_HELD"] = "kept=k:1/" + std::string(k_longest - 20, 'a');
    const Result result =
        run(shells.argv("eval \"$(rlock acquire --export job)\"; echo $?"), options);
    CHECK(result.out == "64\n");
    CHECK(result.err == "rlock: job: too many nested holds for RLOCK_HELD: release some first\n");
    CHECK(shells.watchdogs_end());
  }
  CHECK(comes_free(server));
}

TEST_CASE("acquire: a refusal that is called a success cannot be told by --export") {
  const Server server;
  const Result result =
      run(rlock_argv("acquire", "-r", server.unix_url(), "--export", "-E", "0", "job"));
  CHECK(result.status == 64);
  CHECK(server.keys().empty());
}
