// R3: the rights that the man page lists are enough.
#include "support/rights.hpp"

#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/contents.hpp"
#include "support/fair_lock.hpp"
#include "support/foreign_owner.hpp"
#include "support/process.hpp"
#include "support/quorum.hpp"
#include "support/resp.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

std::string url_of(const Server& server, const std::string& user = "locker") {
  return "redis://" + user + ":password@127.0.0.1:" + std::to_string(server.port());
}

Result invoke(const Server& server, const Words& words) {
  return run(rlock_argv("-r", url_of(server), words));
}

}  // namespace

TEST_CASE("R3: plain locks work for a user with the documented rights" *
          doctest::test_suite("R3")) {
  const auto blocks = documented_rights();
  Server server;
  REQUIRE(server.command(blocks[0]) == "OK");
  const Result result = invoke(server, {"exec", "job", "--", "echo", "ran"});
  CAPTURE(result.err);
  CHECK(result.status == 0);
  CHECK(result.out == "ran\n");
  CHECK(result.err.empty());
  CHECK(invoke(server, {"inspect-queue", "job"}).status == 0);
  CHECK(invoke(server, {"acquire", "--no-watchdog", "-q", "job"}).status == 0);
  CHECK(invoke(server, {"unlock", "--force", "-y", "job"}).status == 0);
  // Of Redisson's read/write locks, only that they can be broken.
  server.command({"HSET", "job", "mode", "read", k_foreign_owner, "1"});
  server.command({"SET", "{job}:" + k_foreign_owner + ":rwlock_timeout:1", "1"});
  RespClient waiter = server.connect();
  waiter.call({"SUBSCRIBE", "redisson_rwlock:{job}"});
  CHECK(invoke(server, {"unlock", "--force", "-y", "job"}).status == 0);
  CHECK(waiter.call({"PING"}).at(2) == "1");
  CHECK(invoke(server, {"unlock", "--force", "-y", "job"}).status == 1);
  server.command({"SET", "job", "token"});
  CHECK(invoke(server, {"unlock", "--force", "-y", "--kind", "simple", "job"}).status == 0);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("R3: a read/write lock is not broken by one who may not wake its waiters" *
          doctest::test_suite("R3")) {
  Server server;
  Words rights = documented_rights().at(0);
  std::erase(rights, "&redisson_rwlock:*");
  REQUIRE(server.command(rights) == "OK");
  server.command({"HSET", "job", "mode", "read", k_foreign_owner, "1"});
  const std::string before = server.command({"DUMP", "job"});
  CHECK(invoke(server, {"unlock", "--force", "-y", "job"}).status == 77);
  CHECK(server.command({"DUMP", "job"}) == before);
  server.command({"HDEL", "job", "mode"});
  CHECK(invoke(server, {"unlock", "--force", "-y", "job"}).status == 0);
}

TEST_CASE("R3: fair locks work for a user with the rights documented for them" *
          doctest::test_suite("R3")) {
  const auto blocks = documented_rights();
  Server server;
  Words rights = blocks[0];
  SUBCASE("all of them") { rights.insert(rights.end(), blocks[1].begin(), blocks[1].end()); }
  SUBCASE("without those that can be left out") {
    for (const std::string& right : blocks[1]) {
      if (!right.starts_with("+pubsub") && right != "+info") rights.push_back(right);
    }
  }
  REQUIRE(server.command(rights) == "OK");
  const std::string queue = "redisson_lock_queue:{job}";
  server.command({"HSET", "job", k_foreign_owner, "1"});
  server.command({"PEXPIRE", "job", "600000"});
  Process first(rlock_argv("exec", "--fair", "-r", url_of(server), "job", "--", "echo", "first"));
  REQUIRE(wait_until([&] { return server.command({"LLEN", queue}) == "1"; }));
  Process second(rlock_argv("exec", "--fair", "-r", url_of(server), "job", "--", "echo", "second"));
  REQUIRE(wait_until([&] { return server.command({"LLEN", queue}) == "2"; }));
  // Garbage and one of Redisson's waiters take other ways through the scripts.
  server.command({"RPUSH", queue, "garbage:1", "java:1"});
  server.command({"ZADD", "redisson_lock_timeout:{job}", "9999999999999", "java:1"});
  CHECK(invoke(server, {"exec", "--fair", "-w", "100ms", "job", "--", "true"}).status == 75);
  CHECK(invoke(server, {"inspect-queue", "job"}).status == 0);
  CHECK(invoke(server, {"evict", "job", "java:1"}).status == 0);
  CHECK(invoke(server, {"evict", "job", "garbage:1"}).status == 0);
  CHECK(invoke(server, {"unlock", "--force", "-y", "job"}).status == 0);
  CHECK(first.wait().out == "first\n");
  CHECK(second.wait().out == "second\n");
  CHECK(first.err().empty());
  CHECK(second.err().empty());
}

TEST_CASE("R3: fencing tokens work for a user with the right documented for them" *
          doctest::test_suite("R3")) {
  const auto blocks = documented_rights();
  Server server;
  REQUIRE(server.command(blocks[0]) == "OK");
  const Words fenced = {"exec", "--fence", "job", "--", "true"};
  CHECK(invoke(server, fenced).status == 77);
  CHECK(invoke(server, {"fence", "job", "5"}).status == 1);
  Words more = {"ACL", "SETUSER", "locker"};
  more.insert(more.end(), blocks[2].begin(), blocks[2].end());
  REQUIRE(server.command(more) == "OK");
  CHECK(invoke(server, fenced).status == 0);
  CHECK(invoke(server, {"fence", "job", "5"}).status == 1);
  CHECK(wait_until([&] { return server.keys() == Words{"redisson_lock_token:{job}"}; }));
}

TEST_CASE("R3: several servers keep locks for a user with the rights documented for them" *
          doctest::test_suite("R3")) {
  const std::string page = contents(std::string(RLOCK_SOURCE_DIR) + "/man/rlock.1");
  const std::string start = "Where several servers keep the locks,";
  REQUIRE(has(page, start));
  std::istringstream words(page.substr(page.find(start)));
  Words more;
  for (std::string word; words >> word && word != ".Pp";) {
    if (word.starts_with("+")) more.push_back(word);
  }
  REQUIRE(more.size() == 2);
  Quorum quorum(3);
  const auto grant = [&](const Words& rights) {
    for (int i = 0; i < 3; ++i) REQUIRE(quorum[i].command(rights) == "OK");
  };
  const auto invoke = [&](const std::string& command, const Words& args) {
    return run(quorum.rlock(command, args),
               {.env = {{"RLOCK_USER", "locker"}, {"RLOCK_PASSWORD", "password"}}});
  };
  const auto exec = [&](const Words& options) {
    Words args{"-n", "--fence"};
    args.insert(args.end(), options.begin(), options.end());
    args.insert(args.end(), {"job", "--", "echo", "ran"});
    return invoke("exec", args);
  };
  grant(documented_rights().at(0));
  CHECK(exec({"--restart-delay", "0"}).status == 77);
  grant({"ACL", "SETUSER", "locker", more[0]});
  CHECK(exec({"--restart-delay", "0"}).status == 0);
  const Result young = exec({"--restart-delay", "24h"});
  CHECK(young.status == 69);
  CHECK(has(young.err, "may have forgotten a lock"));
  CHECK_FALSE(has(young.err, " 0ms"));
  grant({"ACL", "SETUSER", "locker", more[1]});
  const Result result = exec({});
  CHECK(result.status == 0);
  CHECK(result.out == "ran\n");
  CHECK(result.err == "");
  CHECK(exec({"--kind", "simple"}).status == 0);
  const Result taken = invoke("acquire", {"--no-watchdog", "job"});
  REQUIRE(taken.status == 0);
  const std::string owner = taken.out.substr(0, taken.out.find('\n'));
  CHECK(invoke("renew", {"--owner", owner, "job"}).status == 0);
  CHECK(invoke("unlock", {"--owner", owner, "job"}).status == 0);
  CHECK(invoke("fence", {"job", "5"}).status == 1);
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("R3: the rights for plain locks are enough to wake waiters where services queue, too" *
          doctest::test_suite("R3")) {
  Server server;
  REQUIRE(server.command(documented_rights().at(0)) == "OK");
  Process holder(
      rlock_argv("exec", "-q", "-r", url_of(server), "job", "--", "sh", "-c", "echo held; cat"),
      {.hold_stdin = true});
  holder.wait_for_stdout("held");
  Peer peer(server, "r:1");
  CHECK_FALSE(peer.acquire());
  RespClient plain = server.connect();
  plain.call({"SUBSCRIBE", k_channel});
  holder.close_stdin();
  const Result result = holder.wait();
  CHECK(result.status == 0);
  CHECK(result.err == "");
  CHECK(server.command({"EXISTS", "job"}) == "0");
  CHECK(plain.call({"PING"}).at(0) == "message");
}

TEST_CASE("R3: doctor names each of the documented rights that is missing, and no other" *
          doctest::test_suite("R3")) {
  const auto blocks = documented_rights();
  Server server;
  Words rights = blocks[0];
  rights.insert(rights.end(), blocks[1].begin(), blocks[1].end());
  rights.insert(rights.end(), blocks[2].begin(), blocks[2].end());
  rights.emplace_back("&redisson_sc:*");
  // What doctor itself needs.
  for (const std::string& right : blocks[3]) {
    if (right.starts_with("+")) rights.push_back(right);
  }
  REQUIRE(server.command(rights) == "OK");
  CHECK_FALSE(has(invoke(server, {"doctor"}).out, "rights"));
  Words needed{"+scan", "+strlen", "+hstrlen", "+hrandfield"};
  for (std::size_t block : {0, 1, 2}) {
    for (const std::string& right : blocks[block]) {
      if (!right.starts_with("+") || right == "+select" || right == "+info" ||
          right.starts_with("+pubsub")) {
        continue;
      }
      needed.push_back(right);
    }
  }
  for (const std::string& right : needed) {
    CAPTURE(right);
    const std::string command = right.substr(1);
    REQUIRE(server.command({"ACL", "SETUSER", "locker", "-" + command}) == "OK");
    const Result result = invoke(server, {"doctor"});
    CAPTURE(result.err);
    // Without some it cannot look at locks at all.
    CHECK((has(result.out, " " + command) || result.status == 77));
    CHECK_FALSE(has(result.err, "to see which"));
    REQUIRE(server.command({"ACL", "SETUSER", "locker", right}) == "OK");
  }
  const Words channels{"&redisson_lock__channel:*", "&redisson_rwlock:*", "&redisson_sc:*"};
  for (const std::string& missing : channels) {
    Words some{"ACL", "SETUSER", "locker", "resetchannels"};
    for (const std::string& channel : channels) {
      if (channel != missing) some.push_back(channel);
    }
    REQUIRE(server.command(some) == "OK");
    CHECK(has(invoke(server, {"doctor"}).out, "need: " + missing + "\n"));
  }
}

TEST_CASE("R3: doctor says which kind of lock a user with the rights for plain locks cannot take" *
          doctest::test_suite("R3")) {
  Server server;
  REQUIRE(server.command(documented_rights().at(0)) == "OK");
  const Result result = invoke(server, {"doctor"});
  CHECK_FALSE(has(result.out, "problem: rights"));
  for (const char* of : {"fair locks need: llen ", "fencing tokens need: incr\n",
                         "semaphores need: &redisson_sc:* zadd ", "list and doctor need: scan "}) {
    CHECK(has(result.out, std::string("this user lacks rights that ") + of));
  }
  CHECK(has(result.out, "ACL SETUSER locker +info  # as an administrator\n"));
  // It cannot look at the locks, and does not advise to run itself, as another command does.
  CHECK(result.status == 77);
  CHECK_FALSE(has(result.err, "to see which"));
  CHECK(has(result.err, "Access control"));
  const std::string listed = invoke(server, {"list"}).err;
  CHECK((has(listed, "scan") || has(listed, "to see which: ")));
}

TEST_CASE("R3: who may only look sees everything, and changes nothing" *
          doctest::test_suite("R3")) {
  const auto blocks = documented_rights();
  Server server;
  REQUIRE(server.command(blocks[3]) == "OK");
  hold_by_other(server);
  Peer java(server, k_foreign_owner);
  CHECK_FALSE(java.acquire());
  java.listen();
  const std::string url = url_of(server, "looker");
  const auto look = [&](const Words& words) {
    std::vector<std::string> argv = rlock_argv("-r", url, words);
    const Result result = run(argv);
    CAPTURE(words[0]);
    CHECK(result.err == "");
    CHECK(result.status == 0);
    return result.out;
  };
  CHECK(has(look({"inspect-queue", "job"}), java.owner()));
  CHECK(has(look({"list"}), "job"));
  CHECK(has(look({"watch", "--for", "0", "job"}), "is held"));
  CHECK(has(look({"doctor"}), "note: rights"));
  CHECK(has(look({"doctor", "--dry-run"}), "note: rights"));
  const std::string before = server.command({"DUMP", "job"});
  for (const Words& words :
       {Words{"exec", "other", "--", "true"}, Words{"unlock", "--force", "-y", "job"},
        Words{"evict", "job", java.owner()}, Words{"acquire", "--no-watchdog", "other"}}) {
    std::vector<std::string> argv = rlock_argv("-r", url, words);
    CHECK(run(argv).status == 77);
  }
  CHECK(server.command({"DUMP", "job"}) == before);
  CHECK(server.command({"EXISTS", "other"}) == "0");
  CHECK(queue(server) == Words{java.owner()});
}
