// --permits: at most so many at once, as a user meets it.
// Labels: quick
#include <csignal>
#include <deque>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "cli/kinds/semaphore_fixture.hpp"
#include "support/foreign_owner.hpp"
#include "support/proxy.hpp"

using namespace rlock::test;
using namespace rlock::test::permits;

TEST_CASE("semaphore: never more than N at once, however many want to") {
  Server server;
  // Counts, while it has its permit, how many have one.
  const std::string path = server.directory() + "/work.sh";
  std::ofstream(path) << "cli() { redis-cli -s \"$0\" \"$@\" >/dev/null; }\n"
                         "cli lpush seen $(redis-cli -s \"$0\" incr running)\n"
                         "cli decr running\n";
  std::deque<Process> runs;
  for (int i = 0; i < 24; ++i) {
    runs.emplace_back(argv_for(server, {"exec", "--permits", "3", "job", "--", "sh", "-c",
                                        ". \"$1\"", server.unix_path(), path}));
  }
  for (Process& one : runs) {
    const Result result = one.wait();
    CHECK(result.status == 0);
    CHECK(result.err == "");
  }
  const Words seen = server.list({"LRANGE", "seen", "0", "-1"});
  CHECK(seen.size() == 24);
  for (const std::string& count : seen) {
    CHECK(std::stoi(count) >= 1);
    CHECK(std::stoi(count) <= 3);
  }
  server.command({"DEL", "seen", "running"});
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("semaphore: one more waits on the channel, and has the permit that is given back") {
  Server server;
  Holders holders(server);
  Process& first = holders.add("2", {"--lease", "10m"});
  Process& second = holders.add("2", {"--lease", "10m"});
  const Result refused =
      invoke(server, {"exec", "-n", "--permits", "2", "job", "--", "echo", "ran"});
  CHECK(refused.status == 75);
  CHECK(refused.out == "");
  CHECK(has(refused.err, "rlock: job: not acquired: all 2 permits are held by "));
  CHECK(has(refused.err, " pid " + std::to_string(first.pid()) + " (sh) for "));
  CHECK(refused.err.ends_with(" and 1 more\n"));
  Process third(argv_for(server, held("2", {"--lease", "10m"})), {.hold_stdin = true});
  REQUIRE(is_awaited(server));
  CHECK(out(server) == "2");
  check_done(first);
  third.wait_for_stdout("ready");
  check_done(second);
  check_done(third);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("semaphore: the watchdog keeps a permit, and kill -9 gives it back with its lease") {
  Server server;
  Holders holders(server);
  Process& holder = holders.add("1", {"--lease", "6s"});
  const auto end = [&] { return server.command({"ZRANGE", k_permits, "0", "-1", "WITHSCORES"}); };
  for (int renewals = 0; renewals < 4; ++renewals) {
    const std::string before = end();
    REQUIRE(wait_until([&] { return end() != before; }));
    CHECK(try_at_once(server, "1") == 75);
  }
  holder.signal(SIGKILL);
  holder.wait();
  const Result next = invoke(server, {"exec", "--permits", "1", "job", "--", "echo", "ran"});
  CHECK(next.out == "ran\n");
  CHECK(next.err == "");
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("semaphore: S4: a run whose permit is gone is ended, and touches no other" *
          doctest::test_suite("S4")) {
  Server server;
  Holders holders(server);
  Process& other = holders.add("2", {"--lease", "10m"});
  const std::string others = server.command({"ZRANGE", k_permits, "0", "-1"});
  Process& holder = holders.add("2", {"--lease", "6s"});
  const Words both = server.list({"ZRANGE", k_permits, "0", "-1"});
  REQUIRE(both.size() == 2);
  const std::string mine = both[0] == others ? both[1] : both[0];
  SUBCASE("a service with a clock that is ahead takes it back") {
    server.command({"ZREM", k_permits, mine});
    server.command({"INCR", "job"});
    const Result result = holder.wait();
    CHECK(result.status == 79);
    CHECK(has(result.err, "lock lost"));
    CHECK(available(server) == "1");
    CHECK(server.command({"ZRANGE", k_permits, "0", "-1"}) == others);
    check_done(other);
  }
  SUBCASE("somebody breaks the semaphore") {
    const Result forced = invoke(server, {"unlock", "--force", "--yes", "job"});
    CHECK(forced.status == 0);
    CHECK(has(forced.err, "owner " + mine));
    CHECK(has(forced.err, "owner " + others));
    CHECK(holder.wait().status == 79);
    other.close_stdin();
    CHECK(other.wait().status == 79);
    CHECK(invoke(server, {"unlock", "--force", "--yes", "job"}).status != 0);
  }
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("semaphore: a number that was changed counts from the next run on") {
  Server server;
  Holders holders(server);
  Process& first = holders.add("1");
  CHECK(try_at_once(server, "1") == 75);
  Process& second = holders.add("3");
  CHECK(available(server) == "1");
  CHECK(try_at_once(server, "2") == 75);
  check_done(first);
  CHECK(try_at_once(server, "1") == 75);
  CHECK(try_at_once(server, "2") == 0);
  CHECK(available(server) == "1");
  check_done(second);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE(
    "semaphore: one that a service made keeps its number and stays; other kinds are refused") {
  Server server;
  server.command({"SET", "job", "2"});
  const Result other = invoke(server, {"exec", "--permits", "3", "job", "--", "true"});
  CHECK(other.status == 76);
  CHECK(has(other.err, "a semaphore that a service made: it has 2 permits, not 3"));
  CHECK(try_at_once(server, "2") == 0);
  CHECK(server.keys() == Words{"job"});
  CHECK(server.command({"PTTL", "job"}) == "-1");
  CHECK(available(server) == "2");
  {
    Holders holders(server);
    Process& holder = holders.add("2");
    for (const Words& kind : {Words{}, Words{"--fair"}, Words{"--kind", "simple"}}) {
      Words words{"exec"};
      words.insert(words.end(), kind.begin(), kind.end());
      words.insert(words.end(), {"job", "--", "true"});
      CHECK(invoke(server, words).status == 76);
    }
    check_done(holder);
  }
  server.command({"DEL", "job"});
  server.command({"HSET", "job", k_foreign_client + ":1", "1"});
  CHECK(try_at_once(server, "2") == 76);
  CHECK(invoke(server, {"exec", "--permits", "2", "--fence", "job", "--", "true"}).status == 64);
  CHECK(invoke(server, {"exec", "--permits", "0", "job", "--", "true"}).status == 64);
  CHECK(server.keys() == Words{"job"});
}

TEST_CASE("semaphore: S6: replies that are lost count once" * doctest::test_suite("S6")) {
  Server server;
  Proxy proxy(server.port());
  Words argv = rlock_argv("-r", proxy.url());
  const Words words = held("2");
  argv.insert(argv.end(), words.begin(), words.end());
  proxy.cut_after_next_request("redisson_unlock_latch");
  Process holder(argv, {.hold_stdin = true});
  holder.wait_for_stdout("ready");
  REQUIRE(proxy.cuts() == 1);
  CHECK(out(server) == "1");
  CHECK(available(server) == "1");
  Holders holders(server);
  Process& other = holders.add("2");
  proxy.cut_after_next_request("redisson_unlock_latch");
  check_done(holder);
  CHECK(proxy.cuts() == 2);
  CHECK(out(server) == "1");
  CHECK(available(server) == "1");
  check_done(other);
}

TEST_CASE("semaphore: unlock and renew find a permit by its owner, and a nested run shares it") {
  Server server;
  const auto acquire = [&] {
    const Result result =
        invoke(server, {"acquire", "--no-watchdog", "--lease", "10s", "--permits", "2", "job"});
    REQUIRE(result.status == 0);
    return result.out.substr(0, result.out.find('\n'));
  };
  const std::string one = acquire();
  const std::string other = acquire();
  const std::string before = server.command({"ZSCORE", k_permits, one});
  CHECK(invoke(server, {"renew", "--owner", one, "--lease", "1m", "job"}).status == 0);
  CHECK(server.command({"ZSCORE", k_permits, one}) > before);
  CHECK(invoke(server, {"unlock", "--owner", one, "job"}).status == 0);
  CHECK(invoke(server, {"unlock", "--owner", one, "job"}).status == 1);
  CHECK(invoke(server, {"renew", "--owner", one, "job"}).status == 1);
  CHECK(available(server) == "1");
  CHECK(invoke(server, {"unlock", "--owner", other, "job"}).status == 0);
  CHECK(comes_to_be_empty(server));
  const Result nested = invoke(
      server, {"exec", "--permits", "1", "job", "--", rlock_program(), "-r", server.unix_url(),
               "exec", "-n", "--permits", "1", "job", "--", "sh", "-c",
               "echo $RLOCK_KIND; redis-cli -s \"$0\" ZCARD {job}:timeout", server.unix_path()});
  CHECK(nested.status == 0);
  CHECK(nested.out == "semaphore\n1\n");
  CHECK(nested.err == "");
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("semaphore: a permit that has ended by its lease is not held, and leaves nothing") {
  Server server;
  const Result taken =
      invoke(server, {"acquire", "--no-watchdog", "--lease", "200ms", "--permits", "2", "job"});
  REQUIRE(taken.status == 0);
  const std::string owner = taken.out.substr(0, taken.out.find('\n'));
  const std::string has_ended =
      "return redis.call('zscore', KEYS[1], ARGV[1]) + 0 < "
      "redis.call('time')[1] * 1000 + redis.call('time')[2] / 1000 and 1 or 0";
  REQUIRE(server.command({"ZSCORE", k_permits, owner}) != "");
  REQUIRE(wait_until([&] {
    return server.command({"EVAL", has_ended, "1", k_permits, owner}) == "1";
  }));
  const Result result = invoke(server, {"unlock", "--owner", owner, "job"});
  CHECK(result.status == 1);
  CHECK(result.err == "rlock: job: not held by " + owner + "\n");
  CHECK(comes_to_be_empty(server));
}

TEST_CASE(
    "semaphore: renew does not revive a permit that has ended and that nobody has taken back") {
  Server server;
  server.command({"SET", "job", "1"});
  server.command({"ZADD", k_permits, "1000", "u:1"});
  CHECK(invoke(server, {"renew", "--owner", "u:1", "job"}).status == 1);
  CHECK(server.command({"ZSCORE", k_permits, "u:1"}) == "1000");
}

TEST_CASE("semaphore: --at-least keeps the permit after the command, and not for longer") {
  Server server;
  CHECK(
      invoke(server, {"exec", "--permits", "1", "--at-least", "6s", "job", "--", "true"}).status ==
      0);
  CHECK(try_at_once(server, "1") == 75);
  CHECK(out(server) == "1");
  const Result next = invoke(server, {"exec", "--permits", "1", "job", "--", "echo", "ran"});
  CHECK(next.out == "ran\n");
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("semaphore: who is refused is told that one of the permits is kept by --at-least") {
  Server server;
  CHECK(
      invoke(server, {"exec", "--permits", "2", "--at-least", "1m", "job", "--", "true"}).status ==
      0);
  Holders holders(server);
  Process& holder = holders.add("2", {"--lease", "10m"});
  const Result refused = invoke(server, {"exec", "-n", "--permits", "2", "job", "--", "true"});
  CHECK(refused.status == 75);
  CAPTURE(refused.err);
  CHECK(has(refused.err, ": all 2 permits are taken, one of them kept by --at-least until "));
  CHECK(refused.err.ends_with(" ended\n"));
  check_done(holder);
}

TEST_CASE(
    "semaphore: --at-least leaves a name that any kind of lock may use when its time is over") {
  Server server;
  CHECK(
      invoke(server, {"exec", "--permits", "2", "--at-least", "1s", "job", "--", "true"}).status ==
      0);
  CHECK(comes_to_be_empty(server));
  CHECK(invoke(server, {"exec", "-n", "job", "--", "true"}).status == 0);
}

TEST_CASE("semaphore: a permit of Redisson is renewed and given back by the owner that is shown") {
  Server server;
  server.command({"SET", "job", "1"});
  server.command({"ZADD", k_permits, "922337203685477", k_foreign_permit, "99999999999999", "b"});
  const auto invoke_for = [&](const char* command, const std::string& owner) {
    return invoke(server, {command, "--owner", owner, "job"}).status;
  };
  CHECK(invoke_for("renew", k_foreign_permit_shown) == 0);
  CHECK(invoke_for("unlock", "81fe017f303132333435363738396163") == 1);
  CHECK(invoke_for("unlock", k_foreign_permit_shown) == 0);
  CHECK(server.command({"ZRANGE", k_permits, "0", "-1"}) == "b");
  CHECK(available(server) == "2");
  CHECK(invoke_for("renew", k_foreign_permit_shown) == 1);
  CHECK(invoke_for("unlock", k_foreign_permit_shown) == 1);
}
