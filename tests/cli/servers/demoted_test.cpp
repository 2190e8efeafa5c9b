// A primary is demoted behind its name, as HAProxy, keepalived or a managed service does it: new
// connections lead to the new primary, and old ones stay with a server that is a replica now.
// Labels: longest
#include <algorithm>
#include <csignal>
#include <deque>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "cli/servers/server_faults_fixture.hpp"
#include "support/invoke.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using rlock::test::server_faults::refusals;
using namespace std::chrono_literals;

namespace {

struct Name {
  Server first;
  Server second{{.args = {"--replicaof", "127.0.0.1 " + std::to_string(first.port()),
                          "--repl-diskless-sync-delay", "0"}}};
  Proxy proxy{first.port()};
  std::string url = proxy.url();

  Name() {
    REQUIRE(wait_until([&] {
      return has(second.command({"INFO", "replication"}), "master_link_status:up");
    }));
  }
  // The old primary follows a server that is not there: what it has is out of date.
  void demote() {
    REQUIRE(first.is_replicated());
    REQUIRE(second.command({"REPLICAOF", "NO", "ONE"}) == "OK");
    REQUIRE(first.command({"REPLICAOF", "127.0.0.1", std::to_string(free_port())}) == "OK");
  }
};

// Takes a lock, and holds it until its input ends.
Words holder(const Name& name, Words options, const std::string& lock) {
  options.insert(options.begin(), {"exec", "--lease", "6s"});
  options.insert(options.end(), {lock, "--", "sh", "-c", "echo got; cat"});
  return argv_for(name.url, options);
}

// Waits for a renewal.
bool is_renewed(const Server& server, const std::string& lock) {
  long before = pttl(server, lock);
  return wait_until([&] {
    const long now = pttl(server, lock);
    return now > std::exchange(before, now);
  });
}

const ProcessOptions k_held{.hold_stdin = true};

const std::vector<Words> k_kinds = {{},     {"--fair"},           {"-s"},
                                    {"-x"}, {"--kind", "simple"}, {"--permits", "1"}};

std::string lock_of(std::size_t kind) { return "job" + std::to_string(kind); }

std::string acquire(const Name& name, const std::string& lock, const Words& more = {}) {
  Words words{"acquire", "--no-watchdog", "--lease", "60s"};
  words.insert(words.end(), more.begin(), more.end());
  words.push_back(lock);
  const Result result = invoke(name.url, words);
  REQUIRE(result.status == 0);
  return result.out.substr(0, result.out.find('\n'));
}

}  // namespace

TEST_CASE("demoted: holders of each kind go on at the new primary, and release there") {
  Name name;
  std::deque<Process> holders;
  for (std::size_t i = 0; i < k_kinds.size(); ++i) {
    holders.emplace_back(holder(name, k_kinds[i], lock_of(i)), k_held);
    holders.back().wait_for_stdout("got");
  }
  name.demote();
  name.proxy.lead_to(name.second.port());
  for (std::size_t i = 0; i < k_kinds.size(); ++i) {
    CAPTURE(i);
    for (int n = 0; n < 4; ++n) REQUIRE(is_renewed(name.second, lock_of(i)));  // more than a lease
  }
  for (Process& one : holders) {
    one.close_stdin();
    const Result result = one.wait();
    CAPTURE(result.err);
    CHECK(result.status == 0);
    CHECK(result.err.empty());
  }
  CHECK(comes_to_be_empty(name.second));
}

TEST_CASE("demoted: waiters of each kind listen at the new primary, and get the lock there") {
  Name name;
  std::deque<Process> waiters;
  Words owners;
  for (std::size_t i = 0; i < k_kinds.size(); ++i) {
    const Words other = k_kinds[i] == Words{"-s"} ? Words{"-x"} : k_kinds[i];
    owners.push_back(acquire(name, lock_of(i), other));
    waiters.emplace_back(holder(name, k_kinds[i], lock_of(i)), k_held);
  }
  const auto channels = [&](const Server& server) {
    return server.list({"PUBSUB", "CHANNELS", "*{job*"}).size();
  };
  REQUIRE(wait_until([&] { return channels(name.first) == k_kinds.size(); }));
  name.demote();
  name.proxy.lead_to(name.second.port());
  CHECK(wait_until([&] { return channels(name.second) == k_kinds.size(); }));
  for (std::size_t i = 0; i < k_kinds.size(); ++i) {
    CHECK(invoke(name.url, {"unlock", "--owner", owners[i], lock_of(i)}).status == 0);
    waiters[i].wait_for_stdout("got");
    waiters[i].close_stdin();
    const Result result = waiters[i].wait();
    CAPTURE(result.err);
    CHECK(result.status == 0);
  }
  CHECK(comes_to_be_empty(name.second));
}

TEST_CASE("demoted: acquire keeps its lock, and a stopped job asks the new primary") {
  Name name;
  const Result acquired =
      invoke(name.url, {"acquire", "--pid", std::to_string(::getpid()), "--lease", "6s", "job"});
  Process fixed(argv_for(name.url, {"exec", "--no-watchdog", "--lease", "60s", "fixed", "--", "sh",
                                    "-c", "echo got; cat"}),
                k_held);
  fixed.wait_for_stdout("got");
  REQUIRE(acquired.status == 0);
  name.demote();
  name.proxy.lead_to(name.second.port());
  for (int n = 0; n < 4; ++n) REQUIRE(is_renewed(name.second, "job"));
  const std::string owner = acquired.out.substr(0, acquired.out.find('\n'));
  CHECK(invoke(name.url, {"unlock", "--owner", owner, "job"}).status == 0);

  REQUIRE(name.second.command({"DEL", "fixed"}) == "1");
  fixed.signal(SIGSTOP);
  fixed.signal(SIGCONT);
  CHECK(fixed.wait().status == 79);
}

TEST_CASE("demoted: every command waits until the name leads to a primary") {
  Name name;
  const std::string owner = acquire(name, "job");
  const std::string forced = acquire(name, "forced");
  name.demote();
  const std::vector<Words> commands = {{"renew", "--owner", owner, "--lease", "90s", "job"},
                                       {"unlock", "--owner", owner, "job"},
                                       {"unlock", "--force", "-y", "forced"},
                                       {"exec", "new", "--", "true"},
                                       {"exec", "--fair", "fair", "--", "true"}};
  for (const Words& command : commands) {
    CAPTURE(command[0]);
    name.proxy.lead_to(name.first.port());
    const long before = refusals(name.first, "READONLY");
    Words argv = {"--timeout", "30s"};
    argv.insert(argv.end(), command.begin(), command.end());
    Process process(argv_for(name.url, argv));
    CHECK(wait_until([&] { return refusals(name.first, "READONLY") > before + 1; }));
    name.proxy.lead_to(name.second.port());
    const Result result = process.wait();
    CAPTURE(result.err);
    CHECK(result.status == 0);
  }
}

TEST_CASE("demoted: a lock that a replica still shows as held is not called busy") {
  Name name;
  for (std::size_t i = 0; i < k_kinds.size(); ++i) {
    acquire(name, lock_of(i), k_kinds[i] == Words{"-s"} ? Words{"-x"} : k_kinds[i]);
  }
  name.demote();
  for (std::size_t i = 0; i < k_kinds.size(); ++i) {
    CAPTURE(i);
    Words words{"--timeout", "200ms", "exec", "-n"};
    words.insert(words.end(), k_kinds[i].begin(), k_kinds[i].end());
    words.insert(words.end(), {lock_of(i), "--", "true"});
    const Result result = invoke(name.url, words);
    CHECK(result.status == 69);
    CHECK(has(result.err, "the server is a replica"));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  }
}
