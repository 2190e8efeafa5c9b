// --kind simple: string locks, as a user meets them.
// Labels: server rights-plain quick
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "cli/kinds/simple_fixture.hpp"
#include "support/foreign_owner.hpp"
#include "support/invoke.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::simples;

namespace {

// Leaves out what only remembers requests and ends by itself.
Words lasting_keys(const Server& server) {
  Words keys = server.keys();
  std::erase_if(keys, [](const std::string& key) { return has(key, "redisson_unlock_latch:"); });
  return keys;
}

}  // namespace

TEST_CASE("simple: the key is a string with the owner for its value, and goes with the command") {
  Server server;
  const Result result =
      invoke(server, {"exec", "--kind", "simple", "--lease", "20s", "job", "--", "sh", "-c",
                      "echo $RLOCK_KIND $RLOCK_NAME $RLOCK_OWNER; redis-cli -s \"$0\" get job; "
                      "redis-cli -s \"$0\" type job; redis-cli -s \"$0\" pttl job",
                      server.unix_path()});
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  REQUIRE(result.out.starts_with("simple job "));
  const std::string owner = result.out.substr(11, result.out.find('\n') - 11);
  CHECK(owner.size() > 37);
  CHECK(has(result.out, "\n" + owner + "\nstring\n"));
  const long ttl = std::stol(result.out.substr(result.out.find("string\n") + 7));
  CHECK(ttl > 10'000);
  CHECK(ttl <= 20'000);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("simple: acquire, renew and unlock go by the owner alone") {
  Server server;
  const std::string owner = acquire(server);
  CHECK(server.command({"GET", "job"}) == owner);
  CHECK(invoke(server, {"renew", "--owner", owner, "--lease", "90s", "job"}).status == 0);
  CHECK(pttl(server) > 60'000);
  CHECK(invoke(server, {"renew", "--owner", owner + "x", "job"}).status == 1);
  CHECK(invoke(server, {"unlock", "--owner", owner + "x", "job"}).status == 1);
  CHECK(server.command({"GET", "job"}) == owner);
  CHECK(invoke(server, {"unlock", "--owner", owner, "job"}).status == 0);
  CHECK(comes_to_be_empty(server));
  CHECK(invoke(server, {"renew", "--owner", owner, "job"}).status == 1);
  CHECK(comes_to_be_empty(server));
  const Result json =
      invoke(server, {"acquire", "--json", "--kind", "simple", "--no-watchdog", "job"});
  CHECK(has(json.out, "\"kind\":\"simple\",\"token\":null,\"lease_ms\":30000,\"count\":1}"));
}

TEST_CASE("simple: options that make no sense are refused, and nothing is taken") {
  Server server;
  const std::vector<Words> refused = {
      {"--fair", "--kind", "simple"}, {"--kind", "string"}, {"--kind", "simple", "--token", "x"}};
  for (const Words& options : refused) {
    Words words = options;
    words.insert(words.begin(), "exec");
    words.insert(words.end(), {"job", "--", "echo", "ran"});
    const Result result = invoke(server, words);
    CAPTURE(options[0]);
    CAPTURE(result.err);
    CHECK(result.status == 64);
    CHECK(result.out.empty());
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  }
  CHECK(server.keys().empty());
}

TEST_CASE("simple: other kinds are told apart, both ways") {
  Server server;
  server.command({"HSET", "job", k_foreign_owner, "1"});
  const Result result = invoke(server, {"exec", "--kind", "simple", "job", "--", "echo", "ran"});
  CHECK(result.status == 76);
  CHECK(result.out.empty());
  CHECK(result.err == "rlock: job: a hash: a lock of another kind, or no lock\n");
  server.command({"DEL", "job"});
  acquire(server);
  for (const char* kind : {"reentrant", "fair"}) {
    CHECK(invoke(server, {"exec", "--kind", kind, "job", "--", "echo", "ran"}).status == 76);
  }
}

TEST_CASE("simple: a waiter of ours is woken by the release of another") {
  Server server;
  Process holder(argv_for(server, held({"--lease", "1h"})), {.hold_stdin = true});
  holder.wait_for_stdout("ready");
  Process waiter(argv_for(server, held()));
  REQUIRE(comes_to_wait(server));
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
  const Result result = waiter.wait();
  CHECK(result.out == "ready\ndone\n");
  CHECK(result.err.empty());
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("simple: holders that publish nothing are waited for, and a lasting one is told of") {
  Server server;
  server.command({"SET", "job", "foreign\x1b[2J", "PX", "600000"});
  const Result busy = invoke(server, {"exec", "-n", "--kind", "simple", "job", "--", "true"});
  CHECK(busy.status == 75);
  CHECK(busy.err ==
        "rlock: job: not acquired: a string; if it is a lock, it is held by foreign\\x1b...\n");
  CHECK(invoke(server, {"exec", "-w", "100ms", "--kind", "simple", "job", "--", "true"}).status ==
        75);

  SUBCASE("it expires") {
    server.command({"PEXPIRE", "job", "300"});
    Process waiter(argv_for(server, held()));
    CHECK(waiter.wait().out == "ready\ndone\n");
    CHECK(waiter.err().empty());
  }
  SUBCASE("it is deleted") {
    Process waiter(argv_for(server, held()));
    REQUIRE(comes_to_wait(server));
    server.command({"DEL", "job"});
    CHECK(waiter.wait().out == "ready\ndone\n");
    CHECK(waiter.err().empty());
  }
  SUBCASE("it has no expiry") {
    server.command({"PERSIST", "job"});
    Process waiter(argv_for(server, held()));
    waiter.wait_for_stderr("\n");
    const std::string said = waiter.err();
    CAPTURE(said);
    CHECK(
        said.starts_with("rlock: job: a string; if it is a lock, it is held without an expiry by "
                         "foreign\\x1b...: it will not end by itself; find out what wrote it; "));
    CHECK(said.ends_with(
        "; if it is a lock, and its holder is gone: unlock --force --kind simple\n"));
    CHECK(invoke(server, {"unlock", "--force", "-y", "--kind", "simple", "job"}).status == 0);
    CHECK(waiter.wait().out == "ready\ndone\n");
    CHECK(std::count(waiter.err().begin(), waiter.err().end(), '\n') == 1);
  }
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("simple: RedLock.net's keys and scripts, by hand") {
  Server server;
  const std::string guid = "1f0c9a52-33ac-4f22-9d6b-0a1d3c5e7f90";
  const std::string release =
      "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) "
      "else return 0 end";
  server.command({"SET", "redlock:job", guid, "PX", "600000", "NX"});
  CHECK(invoke(server, {"exec", "-n", "-q", "--kind", "simple", "redlock:job", "--", "true"})
            .status == 75);
  CHECK(server.command({"EVAL", release, "1", "redlock:job", guid}) == "1");
  Process job(argv_for(server, held({}, "redlock:job")), {.hold_stdin = true});
  job.wait_for_stdout("ready");
  CHECK(server.command({"SET", "redlock:job", guid, "PX", "600000", "NX"}) == "(nil)");
  CHECK(server.command({"EVAL", release, "1", "redlock:job", guid}) == "0");
  job.close_stdin();
  CHECK(job.wait().status == 0);
  CHECK(comes_to_be_empty(server));
  CHECK(server.command({"SET", "redlock:job", guid, "PX", "600000", "NX"}) == "OK");
}

TEST_CASE("S6: a string lock whose replies were lost is taken once and given back" *
          doctest::test_suite("S6")) {
  Server server;
  Proxy proxy(server.port());
  REQUIRE(invoke(server, held({}, "warm")).status == 0);
  for (const char* which : {"acquire", "release"}) {
    CAPTURE(which);
    if (std::string_view(which) == "acquire") proxy.cut_after_next_request("EVALSHA");
    Words argv = rlock_argv("-r", proxy.url());
    const Words words = held();
    argv.insert(argv.end(), words.begin(), words.end());
    Process job(argv, {.hold_stdin = true});
    job.wait_for_stdout("ready");
    CHECK(server.command({"TYPE", "job"}) == "string");
    if (std::string_view(which) == "release") proxy.cut_after_next_request("EVALSHA");
    job.close_stdin();
    const Result result = job.wait();
    CAPTURE(result.err);
    CHECK(result.status == 0);
    CHECK(result.out == "ready\ndone\n");
    CHECK(result.err.empty());
    CHECK(lasting_keys(server).empty());
  }
  CHECK(proxy.cuts() == 2);
}

TEST_CASE("simple: a nested run re-enters its parent's lock, and leaves it to the parent") {
  Server server;
  std::string nested = "exec -n --kind simple job";
  SUBCASE("as a string") {}
  SUBCASE("whatever kind it asks for") { nested = "exec -n job"; }

  Process outer(
      argv_for(server, {"exec", "--kind", "simple", "--lease", "5s", "job", "--", "sh", "-c",
                        "\"$0\" -r \"$1\" " + nested +
                            " -- sh -c 'echo inner; read on'; echo back $?; read end",
                        rlock_program(), server.unix_url()}),
      {.hold_stdin = true});
  outer.wait_for_stdout("inner");
  const std::string owner = server.command({"GET", "job"});
  outer.write_stdin("on\n");
  outer.wait_for_stdout("back 0");
  CHECK(server.command({"GET", "job"}) == owner);
  CHECK(pttl(server) <= 30'000);
  CHECK(invoke(server, {"exec", "-n", "-q", "--kind", "simple", "job", "--", "true"}).status == 75);
  outer.write_stdin("end\n");
  const Result result = outer.wait();
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("simple: a nested run whose parent has lost the lock says so") {
  Server server;
  Process outer(argv_for(server, {"exec", "--kind", "simple", "job", "--", "sh", "-c",
                                  "\"$0\" -r \"$1\" exec --kind simple job -- sh -c 'echo inner; "
                                  "read on'; echo back $?",
                                  rlock_program(), server.unix_url()}),
                {.hold_stdin = true});
  outer.wait_for_stdout("inner");
  server.command({"SET", "job", "thief"});
  outer.write_stdin("on\n");
  const Result result = outer.wait();
  CHECK(has(result.out, "back 79"));
  CHECK(result.status == 79);
  CHECK(server.command({"GET", "job"}) == "thief");
}

TEST_CASE("simple: --at-least keeps the key by its TTL") {
  Server server;
  REQUIRE(invoke(server, {"exec", "--kind", "simple", "--at-least", "10m", "job", "--", "true"})
              .status == 0);
  CHECK(server.command({"TYPE", "job"}) == "string");
  CHECK(pttl(server) > 500'000);
  CHECK(lasting_keys(server) == Words{"job", "rlock_info:{job}"});
}
