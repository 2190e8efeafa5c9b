// A run of rlock below another one: RLOCK_HELD.
// Labels: rights-plain quick
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/foreign_owner.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using Strings = std::vector<std::string>;

namespace {

// A server, a shell script under `rlock exec job`, and files to tell the script to go on. In the
// script, `run OPTIONS...` is rlock exec, and `await NAME` waits for go(NAME).
struct Nest {
  Server server;

  [[nodiscard]] ProcessOptions options() const {
    const std::string library = server.directory() + "/lib.sh";
    std::ofstream(library) << "run() { \"$RLOCK\" exec \"$@\"; }\n"
                              "await() { while [ ! -e \"$DIR/$1\" ]; do sleep 0.1; done; }\n";
    return {.env = {{"RLOCK", rlock_program()},
                    {"RLOCK_REDIS", server.unix_url()},
                    {"DIR", server.directory()},
                    {"LIB", ". " + library}}};
  }
  [[nodiscard]] static Strings argv(const std::string& script) {
    return rlock_argv("exec", "job", "--", "sh", "-c", "eval \"$LIB\"; " + script);
  }
  void go(const std::string& name) const { std::ofstream(server.directory() + "/" + name) << "go"; }
  [[nodiscard]] std::string holds(const std::string& name = "job") const {
    return server.command({"HVALS", name});
  }
  [[nodiscard]] bool clean() const { return comes_to_be_empty(server); }
};

const char* const k_inner = "sh -c 'eval \"$LIB\"; echo inner; await one'";

}  // namespace

TEST_CASE("re-entry: a nested exec of the same name has hold count 2, and gives it back") {
  Nest nest;
  std::string option;
  SUBCASE("waiting forever") {}
  SUBCASE("not waiting at all") { option = "-n"; }
  SUBCASE("with a lease that is shorter than the outer one") { option = "--lease 6s"; }

  Process rlock(
      Nest::argv("run " + option + " job -- " + k_inner + "; echo back; await two; exit 6"),
      nest.options());
  rlock.wait_for_stdout("inner");
  const std::string owner = nest.server.command({"HKEYS", "job"});
  CHECK(nest.holds() == "2");
  CHECK(pttl(nest.server) > 10'000);
  nest.go("one");
  rlock.wait_for_stdout("back");
  CHECK(nest.holds() == "1");
  CHECK(nest.server.command({"HKEYS", "job"}) == owner);
  CHECK(pttl(nest.server) > 10'000);
  CHECK(run(rlock_argv("exec", "-n", "-q", "-r", nest.server.unix_url(), "job", "--", "true"))
            .status == 75);
  nest.go("two");
  const Result result = rlock.wait();
  CHECK(result.status == 6);
  CHECK(result.err.empty());
  CHECK(nest.clean());
}

TEST_CASE("re-entry: three deep, with the status and the environment passed up") {
  Nest nest;
  Process rlock(Nest::argv("run job -- sh -c 'eval \"$LIB\"; run job -- sh -c "
                           "\"echo deep \\$RLOCK_NAME; . $DIR/lib.sh; await one; exit 9\"'"),
                nest.options());
  rlock.wait_for_stdout("deep job");
  CHECK(nest.holds() == "3");
  nest.go("one");
  CHECK(rlock.wait().status == 9);
  CHECK(nest.clean());
}

TEST_CASE("re-entry: a nested exec of another name has an owner of its own") {
  Nest nest;
  Process rlock(Nest::argv(std::string("run other -- ") + k_inner), nest.options());
  rlock.wait_for_stdout("inner");
  CHECK(nest.holds() == "1");
  CHECK(nest.holds("other") == "1");
  CHECK(nest.server.command({"HKEYS", "job"}) != nest.server.command({"HKEYS", "other"}));
  nest.go("one");
  CHECK(rlock.wait_exit().status == 0);
  CHECK(nest.clean());
}

TEST_CASE("re-entry: parallel children share the parent's lock, and no other") {
  Nest nest;
  Process rlock(
      Nest::argv("for i in 1 2 3; do run job -- sh -c 'echo in; . $DIR/lib.sh; await one' & "
                 "done; wait; echo all back; await two"),
      nest.options());
  CHECK(wait_until([&] { return nest.holds() == "4"; }));
  nest.go("one");
  rlock.wait_for_stdout("all back");
  CHECK(nest.holds() == "1");
  nest.go("two");
  CHECK(rlock.wait_exit().status == 0);

  Process two(
      Nest::argv(std::string("run other -- sh -c '. $DIR/lib.sh; echo first; await three' & ") +
                 "await second; run -n -q other -- echo overlap; echo status $?; wait"),
      nest.options());
  two.wait_for_stdout("first");
  nest.go("second");
  two.wait_for_stdout("status");
  nest.go("three");
  CHECK(two.wait().out == "first\nstatus 75\n");
  CHECK(nest.clean());
}

TEST_CASE("re-entry: a nested run that outlives its parent keeps the lock until it ends") {
  Nest nest;
  Process rlock(Nest::argv("run job -- sh -c '. $DIR/lib.sh; echo inner; await one' & "
                           "while [ ! -e $DIR/leave ]; do sleep 0.02; done"),
                nest.options());
  rlock.wait_for_stdout("inner");
  nest.go("leave");
  rlock.wait_exit();
  CHECK(nest.holds() == "1");
  CHECK(run(rlock_argv("exec", "-n", "-q", "-r", nest.server.unix_url(), "job", "--", "true"))
            .status == 75);
  nest.go("one");
  CHECK(nest.clean());
}

TEST_CASE("re-entry: a nested run that outlives its parent has no dead holder") {
  for (const std::string kind : {"--kind=reentrant", "--fair", "-s", "-x", "--permits=2"}) {
    CAPTURE(kind);
    Nest nest;
    Process rlock(rlock_argv("exec", kind, "job", "--", "sh", "-c",
                             "eval \"$LIB\"; run " + kind + " job -- " + k_inner +
                                 " & while [ ! -e $DIR/leave ]; do sleep 0.02; done"),
                  nest.options());
    rlock.wait_for_stdout("inner");
    nest.go("leave");
    CHECK(rlock.wait_exit().status == 0);
    const Result look =
        run(rlock_argv("inspect-queue", "-r", nest.server.unix_url(), "--json", "job"));
    CHECK(has(look.out, "\"state\":\"held\""));
    CHECK(has(look.out, "\"pid\":null"));
    CHECK(has(look.out, "\"problems\":[]"));
    nest.go("one");
    CHECK(nest.clean());
  }
}

TEST_CASE("re-entry: RLOCK_HELD is only a hint") {
  Nest nest;
  ProcessOptions options = nest.options();
  const std::string dead = k_foreign_owner;
  for (const std::string& held :
       {std::string(), "job=" + dead + "/0123456789abcdef", std::string("job="), std::string("="),
        std::string("job=/"), std::string("%=x/y job=%/%"), std::string(5000, ' '),
        std::string("job=\xff/\xff"), "job=" + dead, "other=" + dead + "/0123456789abcdef"}) {
    options.env["RLOCK_HELD"] = held;
    const Result result =
        run(rlock_argv("exec", "-n", "job", "--", "sh", "-c", "echo \"$RLOCK_OWNER\""), options);
    CHECK(result.status == 0);
    CHECK(result.err.empty());
    CHECK(result.out != dead + "\n");
    CHECK(nest.clean());
  }

  // Another has the lock now: it is waited for like any other.
  nest.server.command({"HSET", "job", "another:1", "1"});
  options.env["RLOCK_HELD"] = "job=" + dead + "/0123456789abcdef";
  CHECK(run(rlock_argv("exec", "-n", "-q", "job", "--", "true"), options).status == 75);
  CHECK(nest.server.command({"HGETALL", "job"}) == "another:1\n1");
  CHECK(nest.server.keys() == Strings{"job"});
}

TEST_CASE("re-entry: what a name contains does not confuse it") {
  Nest nest;
  for (const char* name : {"with space", "a=b", "a/b", "100%", "%20", "{tag}x", "\xff\x01"}) {
    Process rlock(rlock_argv("exec", name, "--", "sh", "-c",
                             "\"$RLOCK\" exec -n \"$RLOCK_NAME\" -- sh -c '. $DIR/lib.sh; "
                             "echo inner; await one'"),
                  nest.options());
    rlock.wait_for_stdout("inner");
    CHECK(nest.holds(name) == "2");
    nest.go("one");
    CHECK(rlock.wait_exit().status == 0);
    CHECK(nest.clean());
    CHECK(run({"rm", nest.server.directory() + "/one"}).status == 0);
  }
}

TEST_CASE("several names: all are held, by one owner, and all are given back") {
  Nest nest;
  Process rlock(rlock_argv("exec", "b", "a", "b", "--", "sh", "-c",
                           ". $DIR/lib.sh; echo \"$RLOCK_OWNER\"; await one"),
                nest.options());
  rlock.wait_for_stdout("\n");
  const std::string owner = rlock.out().substr(0, rlock.out().find('\n'));
  CHECK(nest.server.command({"HGETALL", "a"}) == owner + "\n1");
  CHECK(nest.server.command({"HGETALL", "b"}) == owner + "\n1");
  nest.go("one");
  CHECK(rlock.wait_exit().status == 0);
  CHECK(nest.clean());

  // What was taken is given back when another one cannot be had.
  nest.server.command({"HSET", "b", "another:1", "1"});
  const Result result =
      run(rlock_argv("exec", "-n", "a", "b", "--", "echo", "ran"), nest.options());
  CHECK(result.status == 75);
  CHECK(result.out.empty());
  CHECK(wait_until([&] { return nest.server.keys() == Strings{"b"}; }));
}
