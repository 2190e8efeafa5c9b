// Somebody looks in the wrong place: a pattern instead of a name, another database, or strings.
#include <string>

#include <doctest/doctest.h>

#include "cli/foreign_lock.hpp"
#include "cli/inspection/doctor_fixture.hpp"
#include "support/foreign_owner.hpp"
#include "support/invoke.hpp"
#include "support/process.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

const std::string k_redis_py = "5e6f5abce6dc11f1b60c02fc00000001";
const std::string k_redsync = "pQcpySFPOy3hqmvXAcK1gA==";

Words with(Words words, const std::string& last) {
  words.push_back(last);
  return words;
}

const std::vector<Words> k_looks = {{"inspect-queue"},
                                    {"inspect-queue", "--json"},
                                    {"doctor"},
                                    {"watch", "--for", "0"},
                                    {"watch", "--json", "--until", "free"}};

}  // namespace

TEST_CASE("wrong place: a pattern where a name is expected") {
  Server server;
  hold(server, "deploy/web");
  for (const Words& look : k_looks) {
    for (const char* name : {"deploy/*", "deploy/we?", "deploy/[w]eb"}) {
      const Result result = invoke(server, with(look, name));
      CAPTURE(look);
      CHECK(result.status == 0);
      CHECK(result.err == "rlock: " + std::string(name) +
                              ": this is a name, not a pattern, and there is no such lock; to look "
                              "for locks: rlock -r " +
                              server.unix_url() + " list '" + name + "'\n");
      CHECK(invoke(server, with(with(look, "-q"), name)).err.empty());
    }
  }
  Pty screen(argv_for(server, {"watch", "deploy/*"}), {.columns = 250});
  screen.expect("deploy/*: this is a name, not a pattern");
}

TEST_CASE("wrong place: a name that has a star is a name") {
  Server server;
  const auto check_silent = [&] {
    for (const Words& look :
         {Words{"inspect-queue"}, Words{"doctor"}, Words{"watch", "--for", "0"}}) {
      CHECK(invoke(server, with(look, "deploy/*")).err.empty());
    }
  };
  SUBCASE("that is held") { hold(server, "deploy/*"); }
  SUBCASE("that somebody waits for") {
    server.command({"RPUSH", "redisson_lock_queue:{deploy/*}", k_foreign_owner});
  }
  SUBCASE("that had a token") { server.command({"SET", "redisson_lock_token:{deploy/*}", "7"}); }
  check_silent();
}

TEST_CASE("wrong place: an empty database, where others have keys") {
  Server server(doctors::durable());
  const std::string url = server.tcp_url();
  server.command({"EVAL", "redis.call('select', 3) redis.call('set', KEYS[1], 'x')", "1", "k"});
  const std::string told = "database 0 is empty, but database 3 has 1 key";
  for (const Words& words :
       {Words{"list"}, Words{"inspect-queue", "job"}, Words{"watch", "--until", "free", "job"}}) {
    const Result result = invoke(url, words);
    CAPTURE(result.err);
    CHECK(result.status == 0);
    CHECK(has(result.err, url + ": " + told + ": rlock -r " + url + "/3 list\n"));
    Words quiet = words;
    quiet.push_back("-q");
    CHECK(invoke(url, quiet).err.empty());
  }
  for (const Words& words : {Words{"doctor"}, Words{"doctor", "job"}}) {
    const Result result = invoke(url, words);
    CAPTURE(result.out);
    CHECK(result.status == 0);
    CHECK(has(result.out, "the server: note: empty_database\n"));
    CHECK(has(result.out, told));
    CHECK(has(result.out, "hint: rlock -r " + url + "/3 doctor\n"));
    CHECK_FALSE(has(result.out, "healthy"));
  }
  // Not where it is not empty, nor where all are.
  CHECK(invoke(url + "/3", {"inspect-queue", "job"}).err.empty());
  server.command({"FLUSHALL"});
  CHECK(invoke(url, {"inspect-queue", "job"}).err.empty());
}

TEST_CASE("wrong place: list says how many strings look like locks") {
  Server server;
  hold(server, "other");
  server.command({"SET", "py", k_redis_py, "PX", "600000"});
  server.command({"SET", "go", k_redsync, "PX", "600000"});
  server.command({"SET", "uuid", k_foreign_client, "PX", "600000"});
  server.command({"SET", "shed", "ADDED:2026-11-29T07:38:13.042Z@web1", "PX", "600000"});
  server.command({"SET", "lasting", k_redis_py});  // redis-py sets no expiry as a rule
  // These do not: no token, too long, no expiry; and a lock that is listed.
  server.command({"SET", "digest", "5eb63bbbe01eeed093cb22bb8f5acdc3"});
  server.command({"SET", "lasting-uuid", k_foreign_client});
  server.command({"SET", "number", "5", "PX", "600000"});
  server.command({"SET", "time", "ADDED:2026-11-29T07:38:13.042Z", "PX", "600000"});
  server.command({"SET", "text", std::string(32, 'x'), "PX", "600000"});
  server.command({"SET", "long", std::string(5000, 'a'), "PX", "600000"});
  server.command({"SET", "redisson_unlock_latch:{other}:1", k_redis_py, "PX", "600000"});
  REQUIRE(run(argv_for(server, {"acquire", "--kind", "simple", "--no-watchdog", "ours"})).status ==
          0);
  const Result all = invoke(server, {"list"});
  CHECK(all.status == 0);
  CHECK(all.err == "rlock: list: 5 strings look like locks; --simple '*' shows them\n");
  CHECK_FALSE(has(all.out, "string"));
  CHECK(invoke(server, {"list", "p*"}).err ==
        "rlock: list: 1 string looks like a lock; --simple 'p*' shows it\n"
        "rlock: list: no locks on " +
            server.unix_url() + ": pattern p*\n");
  CHECK(invoke(server, {"list", "-q"}).err.empty());
  const Result json = invoke(server, {"list", "--json"});
  CHECK(json.err == all.err);
  CHECK_FALSE(has(json.out, "strings"));
  const Result shown = invoke(server, {"list", "--simple", "*"});
  CHECK_FALSE(has(shown.err, "look"));
  for (const char* name : {"py", "go", "uuid", "shed"}) CHECK(has(shown.out, name));
}
