// Holds of rlock acquire: what the environment tells unlock and renew, and who gives back which
// hold where several processes hold the lock as one owner.
// Labels: long
#include <algorithm>
#include <csignal>

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

TEST_CASE("acquire: each kind of lock is renewed, given back once, and ends with the shell") {
  const Server server;
  const Shells shells(server);
  for (const char* kind : {"--fair", "--kind simple", "-s", "-x", "--permits 2"}) {
    for (const char* end : {"rlock unlock job; echo $?; rlock unlock -q job; echo $?", ""}) {
      CAPTURE(kind);
      CAPTURE(end);
      const Result result =
          run(shells.argv("eval \"$(rlock acquire --export --lease 1h " + std::string(kind) +
                          " job)\" || exit\nrlock renew --lease 2h job; echo $?\n" + end),
              shells.options());
      CHECK(result.out == (*end == '\0' ? "0\n" : "0\n0\n1\n"));
      CHECK(result.err.empty());
      CHECK(shells.watchdogs_end());
      CHECK(comes_free(server));
    }
  }
}

TEST_CASE("acquire: nested holds are counted, and given back one by one") {
  const Server server;
  const Shells shells(server);
  Process script(
      shells.argv(k_export + k_export +
                  "echo two; await one; rlock unlock job; echo first $?\n"
                  "await two; rlock unlock --owner \"$RLOCK_OWNER\" job; echo second $?\n"
                  "rlock unlock -q job; echo third $?; await three"),
      shells.options());
  script.wait_for_stdout("two");
  CHECK(server.command({"HVALS", "job"}) == "2");
  CHECK(shells.watchdogs().size() == 2);
  shells.go("one");
  script.wait_for_stdout("first 0");
  CHECK(server.command({"HVALS", "job"}) == "1");
  shells.go("two");
  script.wait_for_stdout("third 1");
  CHECK(script.out() == "two\nfirst 0\nsecond 0\nthird 1\n");
  CHECK(comes_free(server));
  CHECK(shells.watchdogs_end());
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("acquire: what counts no holds is given back by the last unlock, too") {
  const Server server;
  const Shells shells(server);
  std::string kind;
  std::string key = "job";
  SUBCASE("a string") { kind = "--kind simple"; }
  SUBCASE("a permit") {
    kind = "--permits 2";
    key = "{job}:timeout";
  }
  const std::string take =
      "eval \"$(rlock acquire --export --lease 1h " + kind + " job)\" || exit\n";
  Process script(shells.argv(take + take +
                             "rlock unlock job; echo $?; await two\n"
                             "rlock unlock job; echo $?\n"
                             "rlock unlock -q job; echo $?; await three"),
                 shells.options());
  script.wait_for_stdout("0\n");
  CHECK(server.command({"EXISTS", key}) == "1");
  shells.go("two");
  script.wait_for_stdout("1\n");
  CHECK(script.out() == "0\n0\n1\n");
  CHECK(comes_free(server, key));
  CHECK(shells.watchdogs_end());
}

TEST_CASE("acquire: a writer who has read as well gives the reading back first, and writes on") {
  const Server server;
  const Shells shells(server);
  const std::string take = "eval \"$(rlock acquire --export --lease 1h ";
  Process script(shells.argv(take + "-x job)\" || exit\n" + take + "-s job)\" || exit\n" + take +
                             "-s job)\" || exit\nrlock unlock job; rlock unlock job; echo read $?\n"
                             "await write; rlock unlock job; echo wrote $?\n"
                             "rlock unlock -q job; echo $?; await end"),
                 shells.options());
  script.wait_for_stdout("read 0\n");
  CHECK(server.command({"HGET", "job", "mode"}) == "write");
  CHECK(server.command({"HLEN", "job"}) == "2");
  shells.go("write");
  script.wait_for_stdout("1\n");
  CHECK(script.out() == "read 0\nwrote 0\n1\n");
  CHECK(comes_free(server));
  CHECK(shells.watchdogs_end());
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("acquire: a shell that ends gives back its own holds, and not that of an exec below") {
  const Server server;
  const Shells shells(server);
  std::string lease = "1h";
  SUBCASE("the watchdog learns of the release when the shell ends") {}
  SUBCASE("the watchdog learns of the release when it asks") { lease = "6s"; }
  Process script(shells.argv("eval \"$(rlock acquire --export --lease " + lease +
                             " job)\" || exit\n"
                             "(rlock exec --lease 1h job -- sh -c 'echo inner; while [ ! -e "
                             "\"$DIR/inner\" ]; do sleep 0.02; done') &\n"
                             "await unlock; rlock unlock job; echo released $?; await end"),
                 shells.options());
  script.wait_for_stdout("inner");
  CHECK(server.command({"HVALS", "job"}) == "2");
  shells.go("unlock");
  script.wait_for_stdout("released 0");
  CHECK(server.command({"HVALS", "job"}) == "1");
  if (lease == "6s") CHECK(shells.watchdogs_end());
  shells.go("end");
  CHECK(script.wait_exit().status == 0);
  CHECK(shells.watchdogs_end());
  CHECK(server.command({"HVALS", "job"}) == "1");  // the exec's
  shells.go("inner");
  CHECK(comes_free(server));
}

TEST_CASE("acquire below exec re-enters, and unlock gives back the hold of acquire") {
  const Server server;
  const Shells shells(server);
  std::string kind;
  SUBCASE("a hash, which counts") {}
  SUBCASE("a string, which does not") { kind = "--kind simple "; }
  const auto counted = [&] {
    return kind.empty() ? server.command({"HVALS", "job"}) : server.command({"EXISTS", "job"});
  };
  Process script(shells.argv("rlock exec " + kind + "--lease 1h job -- sh -c '. \"$DIR/lib.sh\"\n" +
                             "eval \"$(rlock acquire --export --lease 6s job)\" || exit\n"
                             "echo held; await one; rlock unlock job; echo $?; await two'; "
                             "echo exec $?"),
                 shells.options());
  script.wait_for_stdout("held");
  CHECK(counted() == (kind.empty() ? "2" : "1"));
  shells.go("one");
  script.wait_for_stdout("\n0\n");
  CHECK(shells.watchdogs_end());
  CHECK(counted() == "1");
  shells.go("two");
  script.wait_for_stdout("exec 0");
  CHECK(comes_free(server));
}

TEST_CASE(
    "acquire: a shell that has given back its hold does not re-enter that of a process below") {
  const Server server;
  const Shells shells(server);
  Process script(
      shells.argv(k_export +
                  "sh -c '. \"$DIR/lib.sh\"\neval \"$(rlock acquire --export --lease 1h job)\" || "
                  "exit\necho below; await end; rlock unlock job; echo below $?' &\n"
                  "await unlock; rlock unlock job; rlock exec -n -q job -- echo runs; echo $?\n"
                  "eval \"$(rlock acquire --export -n -q job)\"; echo $?\n"
                  "await free; rlock exec -n job -- echo runs; echo $?"),
      shells.options());
  script.wait_for_stdout("below");
  CHECK(server.command({"HVALS", "job"}) == "2");
  shells.go("unlock");
  script.wait_for_stdout("75\n75\n");
  CHECK(server.command({"HVALS", "job"}) == "1");
  shells.go("end");
  script.wait_for_stdout("below 0\n");
  CHECK(comes_free(server));
  shells.go("free");
  script.wait_for_stdout("runs\n0\n");
  CHECK(script.wait_exit().status == 0);
  CHECK(script.out() == "below\n75\n75\nbelow 0\nruns\n0\n");
  CHECK(shells.watchdogs_end());
}

TEST_CASE(
    "acquire: a shell that lives for long does not collect the holds that it has given back") {
  const Server server;
  const Shells shells(server);
  std::string kind;
  SUBCASE("a hash, which counts") {}
  SUBCASE("a string, which does not") { kind = "--kind simple "; }
  const Result result = run(
      shells.argv("take() { eval \"$(rlock acquire --export --lease 1h " + kind +
                  "job)\" || exit; }\n"
                  "take; for i in 1 2 3; do take; take; rlock unlock job; rlock unlock job; done\n"
                  "take; echo \"$RLOCK_HELD\"; rlock unlock job; rlock unlock job; echo $?"),
      shells.options());
  CHECK(std::count(result.out.begin(), result.out.end(), '/') == 2);
  CHECK(result.out.ends_with("\n0\n"));
  CHECK(result.err.empty());
  CHECK(comes_free(server));
  CHECK(shells.watchdogs_end());
}

TEST_CASE("unlock and renew find the owner in RLOCK_OWNER, where RLOCK_NAME is the lock") {
  const Server server;
  const Shells shells(server);
  const Result result =
      run(shells.argv(
              "RLOCK_OWNER=$(rlock acquire --no-watchdog job) RLOCK_NAME=job\n"
              "export RLOCK_OWNER RLOCK_NAME\n"
              "rlock renew --lease 1h job; echo $?; rlock unlock other; echo $?\n"
              "RLOCK_HELD='garbled / = %zz job' rlock unlock job; echo $?; rlock unlock -q job; "
              "echo $?"),
          shells.options());
  CHECK(result.out == "0\n64\n0\n1\n");
  CHECK(result.err ==
        "rlock: other: no owner is known, because RLOCK_HELD does not name this lock; give --owner "
        "ID, or --force to break the lock\n");
  CHECK(server.keys().empty());
}

TEST_CASE("acquire: below a run that holds the lock it takes part only with --export") {
  const Server server;
  const Shells shells(server);
  const Result result =
      run(shells.argv("eval \"$(rlock acquire --export job)\" || exit\n"
                      "sh -c 'owner=$(\"$RLOCK\" acquire job); echo \"$? <$owner>\"'\n"
                      "rlock unlock job; echo $?; rlock unlock -q job; echo $?"),
          shells.options());
  CHECK(result.out == "64 <>\n0\n1\n");
  CHECK(result.err.starts_with("rlock: job: a run above this one holds it: give --export"));
  CHECK(comes_free(server));
}

TEST_CASE("acquire: a garbled RLOCK_HELD is no hold") {
  const Server server;
  const Shells shells(server);
  for (const char* held : {"job", "job=/", "job=%zz/granted", "job=x:1/granted0",
                           "\x01 = / =", "job=u:1/granted0123456789abcdef0123456789abcdef"}) {
    CAPTURE(held);
    ProcessOptions options = shells.options();
    options.env["RLOCK_HELD"] = held;
    const Result result = run(shells.argv("eval \"$(rlock acquire --export job)\" || exit\n"
                                          "rlock exec -n job -- true && rlock unlock job; echo $?"),
                              options);
    CHECK(result.out == "0\n");
    CHECK(result.err.empty());
    CHECK(comes_free(server));
  }
}

TEST_CASE("acquire: three servers") {
  Quorum quorum(3);
  std::string urls;
  for (int i = 0; i < quorum.size(); ++i) urls += quorum.proxy(i).url() + " ";
  const Shells shells(quorum[0].directory(), urls);
  // One that is busy may miss a request, and is given the lock when it is renewed.
  const auto majority_counts = [&](const std::string& holds) {
    int agreed = 0;
    for (int i = 0; i < quorum.size(); ++i) agreed += quorum[i].command({"HVALS", "job"}) == holds;
    return agreed >= 2;
  };
  SUBCASE("the lock is renewed, and ends with the shell") {
    Process script(shells.argv("owner=$(rlock acquire --lease 9s job); echo held; await never"),
                   shells.options());
    script.wait_for_stdout("held");
    for (int i = 0; i < 2; ++i) wait_for_renewal(quorum[2]);
    script.signal(SIGKILL);
    CHECK(quorum.becomes_free_of("job"));
  }
  SUBCASE("a shell that ends does not give back the hold of an exec below") {
    Process script(
        shells.argv(k_export + "(rlock exec --lease 1h job -- sh -c 'echo inner; while [ ! -e "
                               "\"$DIR/inner\" ]; do sleep 0.02; done') &\n"
                               "await unlock; rlock unlock job; echo released $?; await end"),
        shells.options());
    script.wait_for_stdout("inner");
    CHECK(wait_until([&] { return majority_counts("2"); }));
    shells.go("unlock");
    script.wait_for_stdout("released 0");
    CHECK(wait_until([&] { return majority_counts("1"); }));
    shells.go("end");
    CHECK(script.wait_exit().status == 0);
    CHECK(shells.watchdogs_end());
    CHECK(majority_counts("1"));
    shells.go("inner");
    CHECK(quorum.becomes_free_of("job"));
  }
  SUBCASE("a shell that has given back its hold does not re-enter that of a process below") {
    Process script(
        shells.argv(k_export + "sh -c '. \"$DIR/lib.sh\"; eval \"$(rlock acquire --export job)\"; "
                               "rlock exec -n job -- echo below; await end' &\n"
                               "await unlock; rlock unlock job; rlock exec -n -q job -- echo runs; "
                               "echo $?; await end"),
        shells.options());
    script.wait_for_stdout("below");
    shells.go("unlock");
    script.wait_for_stdout("75\n");
    CHECK(script.out() == "below\n75\n");
    shells.go("end");
    CHECK(quorum.becomes_free_of("job"));
  }
  CHECK(shells.watchdogs_end());
}
