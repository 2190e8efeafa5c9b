// Handing a lock over: one at a time, and everybody has a turn.
// Labels: rights-plain quick
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/foreign_lock.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

TEST_CASE("handover: many waiters get the lock one after the other, each once") {
  Server server;
  hold(server, "job");
  const std::string file = server.directory() + "/turns";
  std::deque<Process> waiters;
  for (int i = 0; i < 12; ++i) {
    waiters.emplace_back(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "sh", "-c",
                                    "echo in $2 >> $1; echo out $2 >> $1", "sh", file,
                                    std::to_string(i)));
  }
  REQUIRE(comes_to_wait(server, "job", 12));
  release(server, "job");
  for (Process& waiter : waiters) {
    const Result result = waiter.wait();
    CHECK(result.status == 0);
    CHECK(result.err.empty());
  }
  std::ifstream turns(file);
  std::set<std::string> seen;
  std::string in;
  std::string first;
  std::string out;
  std::string second;
  while (turns >> in >> first >> out >> second) {
    CHECK(in == "in");
    CHECK(out == "out");
    CHECK(first == second);
    CHECK(seen.insert(first).second);
  }
  CHECK(seen.size() == 12);
  CHECK(server.keys().empty());
}

TEST_CASE("handover: a forced unlock wakes the waiters") {
  Server server;
  hold(server, "job");
  Process waiter(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "echo", "got"));
  REQUIRE(comes_to_wait(server, "job", 1));
  REQUIRE(run(rlock_argv("unlock", "--force", "-y", "-r", server.unix_url(), "job")).status == 0);
  CHECK(waiter.wait().out == "got\n");
  CHECK(server.keys().empty());
}

TEST_CASE("handover: a waiter gets a lock whose holder was killed, when the lease ends") {
  Server server;
  Process holder(
      rlock_argv("exec", "--lease", "6s", "--kill-after", "100ms", "-r", server.unix_url(), "job",
                 "--", "sh", "-c", "echo ready; cat > /dev/null"),
      {.hold_stdin = true});
  holder.wait_for_stdout("ready");
  Process waiter(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "echo", "got"));
  REQUIRE(comes_to_wait(server, "job", 1));
  holder.signal_group(SIGKILL);
  const Result result = waiter.wait();
  CHECK(result.out == "got\n");
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("handover: between nested holds the lock stays with its owner") {
  Server server;
  Process outer(
      rlock_argv("exec", "-r", server.unix_url(), "job", "--", "sh", "-c",
                 "echo outer; read a; \"$0\" exec -r \"$1\" job -- echo inner; echo back; "
                 "read b; exit 0",
                 rlock_program(), server.unix_url()),
      {.hold_stdin = true});
  outer.wait_for_stdout("outer");
  Process waiter(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "echo", "got"));
  REQUIRE(comes_to_wait(server, "job", 1));
  outer.write_stdin("a\n");
  outer.wait_for_stdout("back");
  CHECK(waiter.running());
  CHECK(server.command({"HVALS", "job"}) == "1");
  outer.write_stdin("b\n");
  CHECK(outer.wait().status == 0);
  CHECK(waiter.wait().out == "got\n");
  CHECK(server.keys().empty());
}

TEST_CASE("handover: several names in any order never wait for each other in a circle") {
  Server server;
  std::deque<Process> processes;
  for (int i = 0; i < 6; ++i) {
    const Words names = i % 2 == 0 ? Words{"a", "b", "c"} : Words{"c", "b", "a"};
    Words argv = rlock_argv("exec", "-r", server.unix_url(), names, "--", "redis-cli", "-s",
                            server.unix_path(), "EXISTS", "a", "b", "c");
    processes.emplace_back(argv);
  }
  for (Process& process : processes) {
    const Result result = process.wait();
    CHECK(result.status == 0);
    CHECK(result.out == "3\n");
  }
  CHECK(server.keys().empty());
}

TEST_CASE("handover: who does not get the second lock gives the first one back") {
  Server server;
  hold(server, "b");
  const Result result =
      run(rlock_argv("exec", "-n", "-r", server.unix_url(), "a", "b", "--", "true"));
  CHECK(result.status == 75);
  CHECK(server.keys() == Words{"b"});
}
