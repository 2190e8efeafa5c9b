// R2: a release that meets an error of the server that passes is tried again within --timeout.
#include <deque>
#include <string>
#include <sys/stat.h>
#include <thread>
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

const std::vector<Words> k_kinds = {
    {}, {"--fair"}, {"-s"}, {"--kind", "simple"}, {"--permits", "1"}};

// Holds a lock of each kind.
struct Holders {
  explicit Holders(const std::string& url) {
    for (std::size_t i = 0; i < k_kinds.size(); ++i) {
      Words words{"--timeout", "20s", "exec"};
      words.insert(words.end(), k_kinds[i].begin(), k_kinds[i].end());
      words.insert(words.end(), {"job" + std::to_string(i), "--", "sh", "-c", "echo got; cat"});
      all.emplace_back(argv_for(url, words), ProcessOptions{.hold_stdin = true});
      all.back().wait_for_stdout("got");
    }
  }
  void end() {
    for (Process& one : all) one.close_stdin();
  }
  void check_released(const Server& server) {
    for (Process& one : all) {
      const Result result = one.wait();
      CAPTURE(result.err);
      CHECK(result.status == 0);
      CHECK(result.err.empty());
    }
    CHECK(comes_to_be_empty(server));
  }
  std::deque<Process> all;
};

}  // namespace

TEST_CASE("R2: a release that a server refuses for a while is tried again" *
          doctest::test_suite("R2")) {
  struct Case {
    std::string code;
    Words begin, end;
  };
  const std::vector<Case> cases = {
      {"READONLY",
       {"REPLICAOF", "127.0.0.1", std::to_string(free_port())},
       {"REPLICAOF", "NO", "ONE"}},
      {"NOREPLICAS",
       {"CONFIG", "SET", "min-replicas-to-write", "1"},
       {"CONFIG", "SET", "min-replicas-to-write", "0"}},
      {"MISCONF", {"CONFIG", "SET", "save", "3600 1"}, {"CONFIG", "SET", "save", ""}},
  };
  for (const Case& one : cases) {
    CAPTURE(one.code);
    Server server;
    Holders holders(server.unix_url());
    if (one.code == "MISCONF") {  // a snapshot fails: a folder has its name
      REQUIRE(::mkdir((server.directory() + "/dump.rdb").c_str(), 0700) == 0);
      server.command({"BGSAVE"});
      REQUIRE(wait_until([&] {
        return has(server.command({"INFO", "persistence"}), "rdb_last_bgsave_status:err");
      }));
    }
    REQUIRE(server.command(one.begin) == "OK");
    const long before = refusals(server, one.code);
    holders.end();
    CHECK(wait_until([&] {
      return refusals(server, one.code) > before + 2 * static_cast<long>(k_kinds.size());
    }));
    REQUIRE(server.command(one.end) == "OK");
    holders.check_released(server);
  }
}

TEST_CASE("R2: a release that meets another client's script is tried again" *
          doctest::test_suite("R2")) {
  Server server({.args = {"--lua-time-limit", "20"}});
  Proxy proxy(server.port());
  Holders holders(proxy.url());
  RespClient looper = server.connect();
  std::thread loop([&] { looper.call({"EVAL", "while true do end", "0"}, 60s); });
  const bool is_busy = wait_until([&] { return has(server.command({"PING"}), "BUSY"); });
  const std::size_t before = proxy.requests();
  holders.end();
  CHECK(wait_until([&] { return proxy.requests() > before + 4 * k_kinds.size(); }));
  CHECK(wait_until([&] { return server.command({"SCRIPT", "KILL"}) == "OK"; }));
  loop.join();
  CHECK(is_busy);
  holders.check_released(server);
}

TEST_CASE("R2: a release that meets a server that is reading its data is tried again" *
          doctest::test_suite("R2")) {
  Server server({.args = {"--enable-debug-command", "yes",
                          "--loading-process-events-interval-bytes", "1024"}});
  server.command({"DEBUG", "POPULATE", "5000", "key", "200"});
  Holders holders(server.unix_url());
  REQUIRE(server.command({"CONFIG", "SET", "key-load-delay", "10000"}) == "OK");
  RespClient loader = server.connect();
  std::thread load([&] { loader.call({"DEBUG", "RELOAD"}, 60s); });
  const bool is_loading = wait_until([&] { return has(server.command({"PING"}), "LOADING"); });
  const long before = refusals(server, "LOADING");
  holders.end();
  CHECK(wait_until([&] {
    return refusals(server, "LOADING") > before + 2 * static_cast<long>(k_kinds.size());
  }));
  server.command({"CONFIG", "SET", "key-load-delay", "0"});
  load.join();
  CHECK(is_loading);
  server.command({"EVAL", "redis.call('del', unpack(redis.call('keys', 'key:*')))", "0"});
  holders.check_released(server);
}

TEST_CASE("R2: a release is tried again within --timeout only" * doctest::test_suite("R2")) {
  Server server;
  Process job(
      argv_for(server, {"--timeout", "1s", "exec", "job", "--", "sh", "-c", "echo got; cat"}),
      {.hold_stdin = true});
  job.wait_for_stdout("got");
  server.command({"CONFIG", "SET", "min-replicas-to-write", "1"});
  job.close_stdin();
  const Result result = job.wait();
  CHECK(result.status == 0);
  CHECK(is_one_message(result.err));
  CHECK(has(result.err, "job: not released"));
  CHECK(has(result.err, "NOREPLICAS"));
}
