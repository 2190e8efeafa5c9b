// --sync-replicas: a lock that too few replicas know of is given back.
// Labels: long
#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/fair_lock.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

// A master and a replica that has caught up.
struct Pair {
  Server master;
  Server replica{{.args = {"--replicaof", "127.0.0.1 " + std::to_string(master.port())}}};

  Pair() {
    REQUIRE(wait_until([&] {
      return has(replica.command({"INFO", "replication"}), "master_link_status:up");
    }));
  }
  [[nodiscard]] Result exec(const std::vector<std::string>& options) const {
    return run(rlock_argv("exec", "-r", master.unix_url(), options, "job", "--", "echo", "ran"));
  }
};

// Returns how often the server was asked to wait for its replicas.
int calls_of_wait(const Server& server) {
  const std::string stats = server.command({"INFO", "commandstats"});
  const std::string key = "cmdstat_wait:calls=";
  const std::size_t at = stats.find(key);
  return at == std::string::npos ? 0 : std::stoi(stats.substr(at + key.size()));
}

void check_given_back(const Result& result, const Pair& pair) {
  CHECK(result.status == 69);
  CHECK(result.out.empty());
  CHECK(has(result.err, "given back"));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK(pair.master.command({"EXISTS", "job"}) == "0");
}

}  // namespace

TEST_CASE("--sync-replicas: the lock is taken once so many replicas know of it") {
  const Pair pair;
  for (const char* kind : {"reentrant", "fair", "simple"}) {
    CAPTURE(kind);
    const Result result = pair.exec({"--sync-replicas", "1", "--kind", kind});
    CHECK(result.status == 0);
    CHECK(result.out == "ran\n");
    CHECK(result.err.empty());
  }
}

TEST_CASE("--sync-replicas: a lock that too few know of is given back, status 69") {
  Pair pair;
  check_given_back(pair.exec({"--sync-replicas", "2", "--timeout", "2s"}), pair);
  pair.replica.pause();
  for (const char* kind : {"reentrant", "fair", "simple"}) {
    CAPTURE(kind);
    check_given_back(pair.exec({"--sync-replicas", "1", "--timeout", "2s", "--kind", kind}), pair);
  }
  pair.replica.resume();
  CHECK(pair.exec({"--sync-replicas", "1"}).status == 0);
  pair.replica.stop();
  check_given_back(pair.exec({"--sync-replicas", "1", "--timeout", "2s"}), pair);
  CHECK(pair.exec({}).status == 0);
}

TEST_CASE("--sync-replicas: who re-enters needs them, too, and leaves the lock to the outer run") {
  Pair pair;
  for (const char* kind : {"reentrant", "fair", "simple", "write", "read"}) {
    CAPTURE(kind);
    const std::string rlock = "'" + rlock_program() + "' -r '" + pair.master.unix_url() +
                              "' --timeout 2s exec --kind " + kind + " ";
    const Result result =
        run({"sh", "-c", rlock + "job -- sh -c \"$1\"", "sh",
             rlock + "--sync-replicas 1 job -- echo one; " + rlock +
                 "--sync-replicas 2 job -- echo two; echo $?; " + rlock + "-n job -- echo again"});
    CHECK(result.status == 0);
    CHECK(result.out == "one\n69\nagain\n");
    CHECK(has(result.err, "and must be on 2: given back"));
    CHECK(pair.master.keys().empty());
  }
}

TEST_CASE("--sync-replicas: who has given a lock back waits on, also after a reply was lost") {
  Pair pair;
  Proxy proxy(pair.master.port());
  hold_by_other(pair.master);
  Process waiter(rlock_argv("exec", "-v", "-r", proxy.url(), "--timeout", "3s", "--sync-replicas",
                            "1", "job", "--", "echo", "ran"));
  CHECK(comes_to_wait(pair.master));
  pair.replica.pause();
  proxy.cut_after_next_request("EVALSHA");
  pair.master.command({"DEL", "job"});
  pair.master.command({"PUBLISH", k_channel, "0"});
  waiter.wait_for_stderr("still waiting: ");
  CHECK(wait_until([&] { return calls_of_wait(pair.master) >= 2; }));
  pair.replica.resume();
  const Result result = waiter.wait();
  CAPTURE(result.err);
  CHECK(result.status == 0);
  CHECK(result.out == "ran\n");
  // Only the latch of the attempt whose reply was lost.
  CHECK(wait_until([&] { return pair.master.keys().size() <= 1; }));
}

TEST_CASE("--sync-replicas: a release that is under way takes nothing from the next attempt (S5)") {
  Pair pair;
  pair.replica.pause();
  hold_by_other(pair.master);
  Process waiter(rlock_argv("exec", "-v", "-r", pair.master.tcp_url(), "--timeout", "6s", "--lease",
                            "4s", "--sync-replicas", "1", "job", "--", "sh", "-c",
                            "echo $RLOCK_OWNER"));
  CHECK(comes_to_wait(pair.master));
  RespClient admin = pair.master.connect();
  pair.master.command({"DEL", "job"});
  pair.master.command({"PUBLISH", k_channel, "0"});
  std::string first;
  CHECK(wait_until([&] {
    first = pair.master.command({"HKEYS", "job"});
    return !first.empty();
  }));
  // While it waits for the replica: its release is not answered.
  admin.call({"CLIENT", "PAUSE", "600000", "WRITE"});
  waiter.wait_for_stderr("still waiting: ");
  admin.call({"CLIENT", "UNPAUSE"});
  pair.replica.resume();
  const Result result = waiter.wait();
  CAPTURE(result.err);
  CHECK(result.status == 0);
  CHECK(result.out.size() > first.size());
  CHECK(result.out != first + "\n");
}

TEST_CASE("--sync-replicas: a signal while it waits for them gives the lock back") {
  Pair pair;
  pair.replica.pause();
  Process process(rlock_argv("exec", "-r", pair.master.unix_url(), "--timeout", "60s",
                             "--sync-replicas", "1", "job", "--", "echo", "ran"));
  CHECK(wait_until([&] { return pair.master.command({"EXISTS", "job"}) == "1"; }));
  process.signal(SIGTERM);
  const Result result = process.wait();
  CHECK(result.status == 143);
  CHECK(result.out.empty());
  CHECK(pair.master.command({"EXISTS", "job"}) == "0");
}

TEST_CASE("--sync-replicas: the number is from 0 to 1000") {
  const Server server;
  for (const char* number : {"-1", "1001", "x", "1.5"}) {
    CAPTURE(number);
    const Result result =
        run(rlock_argv("exec", "-r", server.unix_url(), std::string("--sync-replicas=") + number,
                       "job", "--", "true"));
    CHECK(result.status == 64);
    CHECK(has(result.err, "--sync-replicas"));
  }
}
