// Plain and fair locks of one name: they exclude each other, wake each other, and say so.
#include <algorithm>
#include <csignal>
#include <deque>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/contents.hpp"
#include "support/fair_lock.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/resp.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

const std::string k_warning =
    "rlock: job: used with and without --fair: the runs exclude each other, but only those with "
    "--fair queue\n";

Words argv_of(const Server& server, const std::string& kind, const Words& options,
              const Words& command) {
  return rlock_argv("exec", "--kind", kind, "-r", server.unix_url(), options, "job", "--", command);
}

const Words k_hold = {"sh", "-c", "echo held; cat"};

bool one_comes_to_wait(const Server& server, const std::string& kind) {
  if (kind == "fair") return comes_to_queue(server, 1);
  return comes_to_wait(server);
}

}  // namespace

TEST_CASE("plain and fair: each excludes the other, everybody has a turn, and nothing is left") {
  Server server;
  const std::string file = server.directory() + "/turns";
  std::deque<Process> processes;
  for (int i = 0; i < 10; ++i) {
    processes.emplace_back(
        argv_of(server, i % 2 == 0 ? "fair" : "reentrant", {"-q"},
                {"sh", "-c", "echo in $2 >>$1; echo out $2 >>$1", "sh", file, std::to_string(i)}));
  }
  for (Process& process : processes) {
    const Result result = process.wait();
    CHECK(result.status == 0);
    CHECK(result.err.empty());
  }
  std::ifstream turns(file);
  std::string in;
  std::string out;
  int count = 0;
  while (std::getline(turns, in) && std::getline(turns, out)) {
    CHECK(in.substr(0, 3) == "in ");
    CHECK(out == "out " + in.substr(3));
    ++count;
  }
  CHECK(count == 10);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("plain and fair: a release of either kind calls a waiter of each, and of the queue one") {
  for (const std::string kind : {"fair", "reentrant"}) {
    CAPTURE(kind);
    Server server;
    Process holder(argv_of(server, kind, {}, k_hold), {.hold_stdin = true});
    holder.wait_for_stdout("held");
    Peer first(server, "r:1");
    Peer second(server, "r:2");
    for (Peer* peer : {&first, &second}) {
      peer->listen();
      CHECK_FALSE(peer->acquire());
    }
    RespClient plain = server.connect();
    plain.call({"SUBSCRIBE", k_channel});
    holder.close_stdin();
    CHECK(holder.wait().status == 0);
    CHECK(first.messages() == 1);
    CHECK(second.messages() == 0);
    CHECK(plain.call({"PING"}) == Words{"message", k_channel, "0"});
    CHECK(first.acquire());
  }
}

TEST_CASE("plain and fair: whoever comes second waits, is warned once, and is woken") {
  for (const std::string kind : {"fair", "reentrant"}) {
    CAPTURE(kind);
    Server server;
    Process holder(argv_of(server, kind, {}, k_hold), {.hold_stdin = true});
    holder.wait_for_stdout("held");
    const std::string second = kind == "fair" ? "reentrant" : "fair";

    const Result refused = run(argv_of(server, second, {"-n"}, {"true"}));
    CHECK(refused.status == 75);
    CHECK(refused.err.starts_with(k_warning + "rlock: job: not acquired: held by "));
    CHECK(has(refused.err, " (sh) for "));
    const Result quiet = run(argv_of(server, second, {"-n", "-q"}, {"true"}));
    CHECK(quiet.status == 75);
    CHECK(quiet.err.empty());
    // Who says that a refusal is fine is told of it only with -v, and of what comes with it.
    const Result fine = run(argv_of(server, second, {"-n", "-E", "0"}, {"true"}));
    CHECK(fine.status == 0);
    CHECK(fine.err.empty());
    CHECK(
        run(argv_of(server, second, {"-v", "-n", "-E", "0"}, {"true"})).err.starts_with(k_warning));

    Process waiter(argv_of(server, second, {}, {"echo", "got"}));
    REQUIRE(one_comes_to_wait(server, second));
    holder.close_stdin();
    const Result held = holder.wait();
    CHECK(held.status == 0);
    CHECK(held.err.empty());
    const Result got = waiter.wait();
    CHECK(got.status == 0);
    CHECK(got.out == "got\n");
    CHECK(got.err == k_warning);
    CHECK(comes_to_be_empty(server));
  }
}

TEST_CASE("plain and fair: whoever overtakes the queue is warned, and its head keeps its place") {
  Server server;
  server.command({"HSET", "job", "other:1", "1"});
  server.command({"PEXPIRE", "job", "600000"});
  std::deque<Process> waiters;
  for (const char* word : {"1", "2"}) {
    waiters.emplace_back(
        argv_of(server, "fair", {},
                {"sh", "-c", "echo $2 >>$1", "sh", server.directory() + "/turns", word}));
    REQUIRE(comes_to_queue(server, waiters.size()));
  }
  const Words owners = queue(server);
  server.command({"DEL", "job"});  // nobody is called
  Process plain(argv_of(server, "reentrant", {}, k_hold), {.hold_stdin = true});
  plain.wait_for_stdout("held");
  CHECK(queue(server) == owners);
  plain.close_stdin();
  const Result result = plain.wait();
  CHECK(result.status == 0);
  CHECK(result.err == k_warning);
  for (Process& waiter : waiters) CHECK(waiter.wait().status == 0);
  CHECK(contents(server.directory() + "/turns") == "1\n2\n");
}

TEST_CASE("plain and fair: a lock that is deleted by hand strands nobody: it can be broken") {
  // A Redisson defect: its waiters sleep until the lease that they saw would have ended.
  Server server;
  Process holder(argv_of(server, "fair", {"--on-lost", "ignore"}, k_hold), {.hold_stdin = true});
  holder.wait_for_stdout("held");
  Process fair(argv_of(server, "fair", {"-q"}, {"echo", "got"}));
  REQUIRE(comes_to_queue(server, 1));
  fair.signal(SIGSTOP);  // so that all requests are the other's
  REQUIRE(wait_until([&] { return stopped(fair.pid()); }));
  const long before = script_calls(server);
  Process plain(argv_of(server, "reentrant", {"-q"}, {"echo", "got"}));
  REQUIRE(comes_to_wait(server));
  // It asks once more when it listens, and would get the lock that is deleted.
  REQUIRE(wait_until([&] { return script_calls(server) >= before + 2; }));
  fair.signal(SIGCONT);
  Peer peer(server, "r:1");
  peer.listen();
  CHECK_FALSE(peer.acquire());
  server.command({"DEL", "job"});
  const Result broken = run(rlock_argv("unlock", "--force", "-y", "-r", server.unix_url(), "job"));
  CHECK(broken.status == 1);
  CHECK(broken.err.starts_with("rlock: job: not held by anybody; woke its waiters, "));
  for (Process* process : {&fair, &plain}) CHECK(process->wait().out == "got\n");
  // The last of the two to release the lock has called the next.
  CHECK(peer.messages() >= 1);
  CHECK(peer.acquire());
  holder.close_stdin();
  CHECK(holder.wait().status == 79);
}
