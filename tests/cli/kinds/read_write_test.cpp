// rlock exec -s and -x: readers share a lock, and a writer excludes them.
// Labels: long quick
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "cli/kinds/read_write_fixture.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/rights.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::read_write_runs;
using namespace std::chrono_literals;

namespace {

// Waits until the run has the lock. Returns whether that was soon: a waiter that misses the message
// asks again after 5 s.
bool comes_soon(Process& process) {
  const auto start = std::chrono::steady_clock::now();
  process.wait_for_stdout("got");
  return std::chrono::steady_clock::now() - start < 4s;
}

}  // namespace

TEST_CASE("readers share a lock, and writers exclude all; who waits is woken by a message") {
  const bool is_soon = one_succeeds([] {
    Setting set;
    auto one = set.held({"-s", "--lease", "10m"});
    auto two = set.held({"--shared", "--lease", "10m"});
    CHECK(set.status_of("-s") == 0);
    const Result refused = set.attempt({"-x", "-n"});
    CHECK(refused.status == 75);
    CHECK(has(refused.err, "rlock: job: not acquired: held by "));
    CHECK(has(refused.err, " (sh) for "));
    auto writer = set.start({"-x", "--lease", "10m"});
    REQUIRE(set.comes_to_wait());
    check_end(*one);
    CHECK(set.status_of("--exclusive") == 75);
    CHECK(writer->out().empty());
    check_end(*two);
    bool is_each_soon = comes_soon(*writer);
    CHECK(set.status_of("-s") == 75);
    CHECK(set.status_of("-x") == 75);
    auto third = set.start({"--kind", "read", "--lease", "10m"});
    auto fourth = set.start({"--kind", "read", "--lease", "10m"});
    REQUIRE(set.comes_to_wait(2));
    check_end(*writer);
    is_each_soon = comes_soon(*third) && is_each_soon;
    is_each_soon = comes_soon(*fourth) && is_each_soon;
    check_end(*third);
    check_end(*fourth);
    CHECK(set.clean());
    return is_each_soon;
  });
  CHECK(is_soon);
}

TEST_CASE("the command learns its side, the plain owner, and as the writer a token") {
  Setting set;
  Words argv = set.exec_argv({"--kind", "write", "--fence"});
  const std::string show = "echo $RLOCK_KIND $RLOCK_OWNER $RLOCK_TOKEN.; redis-cli -s \"$0\" ";
  argv.insert(argv.end(), {"sh", "-c", show + "hkeys job", set.server.unix_path()});
  const Result writer = run(argv);
  const std::size_t space = writer.out.find(' ', 6);
  const std::string owner = writer.out.substr(6, space - 6);
  CHECK(writer.out.starts_with("write " + owner + " 1"));
  CHECK(writer.out.ends_with(".\nmode\n" + owner + ":write\n"));
  CHECK(set.server.command({"DEL", "redisson_lock_token:{job}"}) == "1");
  const Result refused = set.attempt({"-s", "--fence"});
  CHECK(refused.status == 64);
  CHECK(refused.err.starts_with("rlock: job: a reader has no fencing token: "));
  const Result several =
      run(rlock_argv("exec", "-s", "-r", set.server.unix_url(), "-r", set.server.tcp_url(), "-r",
                     "redis://127.0.0.1:1", "job", "--", "true"));
  CHECK(several.status == 64);
  CHECK(set.clean());
}

TEST_CASE("a nested run reads or writes with its parent, in any order of ending") {
  Setting set;
  const ProcessOptions options{.env = {{"RLOCK", rlock_program()},
                                       {"RLOCK_REDIS", set.server.unix_url()},
                                       {"C", "redis-cli -s " + set.server.unix_path()}}};
  const auto nested = [&](const char* outer, const std::string& script) {
    Words argv = set.exec_argv({outer});
    argv.insert(argv.end(), {"sh", "-c", script});
    return run(argv, options);
  };
  SUBCASE("a reader in a reader") {
    CHECK(nested("-s",
                 "\"$RLOCK\" exec -n -s job -- sh -c '$C hget job $RLOCK_OWNER'; $C hget "
                 "job $RLOCK_OWNER")
              .out == "2\n1\n");
  }
  SUBCASE("the writer in the writer") {
    CHECK(nested("-x",
                 "\"$RLOCK\" exec -n -x job -- sh -c '$C hget job $RLOCK_OWNER:write'; $C "
                 "hget job $RLOCK_OWNER:write")
              .out == "2\n1\n");
  }
  SUBCASE("a reader in the writer") {
    CHECK(nested("-x",
                 "\"$RLOCK\" exec -n -s job -- sh -c '$C hvals job; echo $RLOCK_KIND'; $C "
                 "hvals job")
              .out == "write\n1\n1\nread\nwrite\n1\n");
  }
  SUBCASE("not the writer in a reader, which would wait for itself forever") {
    const Result result = nested("-s", "\"$RLOCK\" exec -x job -- echo never; echo $?");
    CHECK(result.out == "64\n");
    CHECK(result.err ==
          "rlock: job: a process above this one reads: a reader cannot become the writer (take the "
          "write lock first)\n");
  }
  SUBCASE("no plain run in a reader, and no reader in a plain one") {
    CHECK(nested("-s", "\"$RLOCK\" exec -q job -- echo never; echo $?").out == "76\n");
    CHECK(nested("--kind=reentrant", "\"$RLOCK\" exec -q -s job -- echo never; echo $?").out ==
          "76\n");
  }
  SUBCASE("the writer ends first, and the reader goes on, together with others") {
    const std::string stop = set.server.directory() + "/stop";
    const std::string until = "while [ ! -e " + stop + " ]; do sleep 0.02; done";
    const Result result =
        nested("-x", "\"$RLOCK\" exec -s --lease 6s job -- sh -c '" + until +
                         "' > /dev/null 2>&1 & while [ \"$($C hlen job)\" != 3 ]; do :; done");
    CHECK(result.status == 0);
    CHECK(result.err.empty());
    CHECK(set.status_of("-s") == 0);
    wait_for_renewal(set.server);
    CHECK(set.status_of("-x") == 75);
    std::ofstream(stop) << "stop";
  }
  CHECK(set.clean());
}

TEST_CASE("--at-least keeps a reader's and the writer's lock by TTL") {
  Setting set;
  for (const std::string side : {"-s", "-x"}) {
    CHECK(set.attempt({side, "--at-least", "1m"}).out == "ran\n");
    CHECK(pttl(set.server) > 30'000);
    CHECK(pttl(set.server) <= 60'000);
    CHECK(set.status_of("-x") == 75);
    CHECK(set.status_of("-s") == (side == "-s" ? 0 : 75));
    CHECK(set.rlock("unlock", {"--force", "-y"}).status == 0);
    CHECK(set.clean());
  }
}

TEST_CASE("acquire, renew and unlock work with the plain owner, and with the field that is shown") {
  Setting set;
  const auto acquire = [&](const char* side) {
    const Result taken = set.rlock("acquire", {side, "--no-watchdog", "--lease", "1m"});
    CHECK(taken.status == 0);
    return taken.out.substr(0, taken.out.find('\n'));
  };
  const std::string reader = acquire("-s");
  const std::string other = acquire("-s");
  CHECK(set.rlock("renew", {"--owner", reader, "--lease", "10m"}).status == 0);
  CHECK(pttl(set.server) > 500'000);
  CHECK(set.rlock("unlock", {"--owner", reader}).status == 0);
  CHECK(set.rlock("unlock", {"--owner", reader}).status == 1);
  CHECK(pttl(set.server) <= 60'000);
  CHECK(set.rlock("unlock", {"--owner", other}).status == 0);
  CHECK(set.clean());
  const std::string writer = acquire("-x");
  CHECK(set.server.command({"HGET", "job", writer + ":write"}) == "1");
  CHECK(set.rlock("renew", {"--owner", writer + ":write", "--lease", "10m"}).status == 0);
  CHECK(pttl(set.server) > 500'000);
  CHECK(set.rlock("unlock", {"--owner", writer}).status == 0);
  CHECK(set.clean());
  const Result json = set.rlock("acquire", {"--json", "-s", "--no-watchdog"});
  CHECK(has(json.out, "\"kind\":\"read\""));
  CHECK(has(json.out, "\"count\":1"));
}

TEST_CASE("who reads and who writes is shown, and told when the lock is broken") {
  Setting set;
  Process watch(rlock_argv("watch", "--json", "-r", set.server.unix_url(), "job"));
  watch.wait_for_stdout("\"state\":\"free\"");
  auto one = set.held({"-s"});
  auto two = set.held({"-s"});
  watch.wait_for_stdout("\"event\":\"held\"");
  const std::string pid = std::to_string(one->pid());
  const Result seen = set.rlock("inspect-queue", {"--json"});
  CHECK(has(seen.out, "\"kind\":\"read-write\""));
  CHECK(has(seen.out, "\"mode\":\"read\""));
  CHECK(has(seen.out, "\"command\":\"sh\",\"pid\":" + pid));
  CHECK(has(seen.out, "\"problems\":[]"));
  CHECK(has(run(rlock_argv("list", "-r", set.server.unix_url())).out, "read-write"));
  one->signal(SIGKILL);
  CHECK(one->wait_exit().status == 128 + SIGKILL);
  const Result health = set.rlock("doctor", {});
  CHECK(health.status == 1);
  CHECK(has(health.out, "process " + pid));
  auto writer = set.start({"-x"});
  REQUIRE(set.comes_to_wait(2));  // with the one who watches
  const Result broken = set.rlock("unlock", {"--force", "-y"});
  CHECK(broken.status == 0);
  CHECK(has(broken.err, "pid " + pid + " (sh)"));
  CHECK(has(broken.err, ", a reader ("));
  writer->wait_for_stdout("got");
  const std::string writer_pid = std::to_string(writer->pid());
  watch.wait_for_stdout("\"pid\":" + writer_pid);
  CHECK(has(set.rlock("inspect-queue", {}).out, "write"));
  two->close_stdin();
  CHECK(two->wait().status == 79);
  const Result again = set.rlock("unlock", {"--force", "-y"});
  CHECK(has(again.err, "pid " + writer_pid + " (sh)"));
  CHECK(has(again.err, ", the writer ("));
  writer->close_stdin();
  CHECK(writer->wait().status == 79);
  CHECK(wait_until([&] { return set.server.command({"EXISTS", "job"}) == "0"; }));
}

TEST_CASE("a name of the other kind is refused with the option that fits") {
  Setting set;
  for (const auto& [holder, other, advice] :
       {std::tuple<Words, Words, std::string>{{}, {"-n", "-x"}, "leave out -s or -x"},
        {{}, {"-n", "-s"}, "leave out -s or -x"},
        {{"-s"}, {"-n"}, "take it with -s or -x"}}) {
    const auto first = set.held(holder);
    const Result result = set.attempt(other);
    CHECK(result.status == 76);
    CHECK(has(result.err, advice));
    first->close_stdin();
    CHECK(first->wait().status == 0);
  }
}

TEST_CASE("several names are read or written together") {
  Setting set;
  const auto exec = [&](const char* side, const char* name) {
    return run(rlock_argv("exec", side, "-n", "-q", "-r", set.server.unix_url(), name, "--",
                          "true"))
        .status;
  };
  Process both(rlock_argv("exec", "-s", "-r", set.server.unix_url(), "a", "b", "--", "sh", "-c",
                          "echo got; cat"),
               {.hold_stdin = true});
  both.wait_for_stdout("got");
  for (const char* name : {"a", "b"}) {
    CHECK(exec("-s", name) == 0);
    CHECK(exec("-x", name) == 75);
  }
  check_end(both);
  CHECK(set.clean());
}

TEST_CASE(
    "R3: readers and writers need no more rights than plain locks; watching needs no new one" *
    doctest::test_suite("R3")) {
  Setting set;
  const auto blocks = documented_rights();
  REQUIRE(set.server.command(blocks[0]) == "OK");
  Words looker = blocks[3];
  const char* side = "-s";
  SUBCASE("as documented") {}
  SUBCASE("without the channels of read/write locks") {
    side = "-x";
    std::erase(looker, "&redisson_rwlock:*");
    REQUIRE(looker.size() < blocks[3].size());
  }
  REQUIRE(set.server.command(looker) == "OK");
  const auto url = [&](const std::string& user) {
    return "redis://" + user + ":password@127.0.0.1:" + std::to_string(set.server.port());
  };
  Process holder(
      rlock_argv("exec", side, "-r", url("locker"), "job", "--", "sh", "-c", "echo got; cat"),
      {.hold_stdin = true});
  holder.wait_for_stdout("got");
  Process waiter(rlock_argv("exec", "-x", "-r", url("locker"), "job", "--", "echo", "ran"));
  REQUIRE(set.comes_to_wait());
  Process watch(rlock_argv("watch", "--json", "-r", url("looker"), "job"));
  watch.wait_for_stdout("\"state\":\"held\"");
  check_end(holder);
  watch.wait_for_stdout("\"event\":\"released\"");
  CHECK(waiter.wait().out == "ran\n");
  CHECK(waiter.err().empty());
  CHECK(set.clean());
}
