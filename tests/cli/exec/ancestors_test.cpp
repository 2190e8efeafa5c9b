// Runs below other runs that hold a lock of the same name: on another server, or without
// RLOCK_HELD.
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/foreign_owner.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;

TEST_CASE("re-entry: the same name on two servers in turns") {
  const Server one;
  const Server two;
  std::string kind = "--kind=reentrant";
  std::string holds = "2";
  SUBCASE("plain") {}
  SUBCASE("fair") { kind = "--fair"; }
  SUBCASE("writer") { kind = "-x"; }
  SUBCASE("string lock") {
    kind = "--kind=simple";
    holds = "";
  }
  SUBCASE("semaphore") {
    kind = "--permits=1";
    holds = "";
  }
  const std::string script = one.directory() + "/nest";
  std::ofstream(script)
      << "if [ $1 = 0 ]; then echo inner; until [ -e $0.go ]; do sleep 0.02; done; "
         "exit 6; fi\n"
         "if [ $(($1 % 2)) = 0 ]; then url=$ONE; else url=$TWO; fi\n"
         "exec $RLOCK exec $KIND -r $url job -- sh $0 $(($1 - 1))\n";
  Process rlock({"sh", script, "4"}, {.env = {{"RLOCK", rlock_program()},
                                              {"KIND", kind},
                                              {"ONE", one.unix_url()},
                                              {"TWO", two.unix_url()}}});
  rlock.wait_for_stdout("inner");
  for (const Server* server : {&one, &two}) {
    if (!holds.empty()) CHECK(has(server->command({"HVALS", "job"}), holds));
  }
  std::ofstream(script + ".go") << "go";
  const Result result = rlock.wait();
  CHECK(result.status == 6);
  CHECK(result.err.empty());
  CHECK(comes_to_be_empty(one));
  CHECK(comes_to_be_empty(two));
}

TEST_CASE("exec: a run that waits for its own ancestor says so once") {
  const Server server;
  std::string kind = "--kind=reentrant";
  std::string hint =
      "to re-enter, pass RLOCK_HELD on, as with sudo --preserve-env=RLOCK_HELD or rlock "
      "acquire --export";
  std::string environment;
  std::string wait = "--wait=1s";
  SUBCASE("plain") {}
  SUBCASE("not waiting") { wait = "-n"; }
  SUBCASE("fair") { kind = "--fair"; }
  SUBCASE("string lock") { kind = "--kind=simple"; }
  SUBCASE("writer") { kind = "-x"; }
  SUBCASE("semaphore") { kind = "--permits=1"; }
  SUBCASE("with the variable of another run") {
    environment = "job=" + k_foreign_owner + "/0123456789abcdef";
    hint = "RLOCK_HELD lists another owner of this name in its place";
  }
  const auto inner =
      rlock_argv("exec", "-r", server.unix_url(), wait, kind, "job", "--", "echo", "ran");
  std::vector<std::string> outer =
      rlock_argv("exec", "-r", server.unix_url(), kind, "job", "--", "sh", "-c",
                 "RLOCK_HELD='" + environment + "' \"$@\"; exit $?", "sh");
  outer.insert(outer.end(), inner.begin(), inner.end());
  const Result result = run(outer);
  CHECK(result.status == 75);
  CHECK(result.out.empty());
  CAPTURE(result.err);
  CHECK(result.err.starts_with("rlock: job: held by "));
  const std::string told =
      " (sh), an ancestor of this process, which may wait for it: " + hint + "\n";
  CHECK(has(result.err, told));
  CHECK_FALSE(has(result.err.substr(result.err.find(told) + told.size()), "ancestor"));
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("exec and acquire: one that waits for a lock of its own shell says so") {
  const Server server;
  const std::string url = server.unix_url();
  std::string script = "o=$(\"$0\" acquire -r \"$1\" job); ";
  std::string told = "an ancestor of this process, which may wait for it: ";
  SUBCASE("exec") { script += "\"$0\" exec -r \"$1\" --wait 1s job -- echo ran; exit $?"; }
  SUBCASE("acquire") { script += "o=$(\"$0\" acquire -r \"$1\" --wait 1s job); exit $?"; }
  SUBCASE("exec in the place of the shell") {
    script += "exec \"$0\" exec -r \"$1\" --wait 1s job -- echo ran";
    told = "which has become this process: ";
  }
  const Result result = run({"bash", "-c", script, rlock_program(), url});
  CAPTURE(result.err);
  CHECK(result.status == 75);
  CHECK(result.out.empty());
  CHECK(has(result.err, "(bash), " + told + "to re-enter, pass RLOCK_HELD on"));
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("exec: a run that waits for a run beside it names no ancestor") {
  const Server server;
  const Process holder(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "sleep", "1000"));
  REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "1"; }));
  const Result result =
      run(rlock_argv("exec", "-r", server.unix_url(), "--wait=1s", "job", "--", "true"));
  CHECK(result.status == 75);
  CHECK_FALSE(has(result.err, "ancestor"));
}
