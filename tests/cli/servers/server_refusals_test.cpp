// R2: what the user sees when a server is there and refuses: a status, one line, and nothing left.
// Labels: long server
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "cli/servers/server_faults_fixture.hpp"
#include "support/fake_server.hpp"
#include "support/foreign_owner.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/resp.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::server_faults;
using namespace std::chrono_literals;

namespace {

// The commands that must write are refused with `status`.
void check_takers_refused(const std::string& url, int status, std::string_view why) {
  for (const Words& words : {k_commands[0], k_commands[1], k_commands[2]}) {
    CAPTURE(words[0]);
    const Result result = invoke(url, words);
    check_refused(result, status);
    CHECK(has(result.err, why));
  }
}

}  // namespace

TEST_CASE("R2: LOADING is told by status 69 and its name" * doctest::test_suite("R2")) {
  Server server({.args = {"--enable-debug-command", "yes",
                          "--loading-process-events-interval-bytes", "1024"}});
  server.command({"DEBUG", "POPULATE", "5000", "key", "200"});
  REQUIRE(server.command({"CONFIG", "SET", "key-load-delay", "10000"}) == "OK");
  RespClient loader = server.connect();
  std::thread load([&] { loader.call({"DEBUG", "RELOAD"}, 60s); });
  const bool loading = wait_until([&] { return has(server.command({"PING"}), "LOADING"); });
  if (loading) {
    check_takers_refused(server.tcp_url(), 69, "LOADING");
    check_refused(invoke(server.tcp_url(), {"inspect-queue", "job"}), 69);
    check_refused(invoke(server.tcp_url(), {"unlock", "--owner", "u:1", "job"}), 69);
  }
  server.command({"CONFIG", "SET", "key-load-delay", "0"});
  load.join();
  CHECK(loading);
  CHECK(server.command({"EXISTS", "job"}) == "0");
}

TEST_CASE("R2: BUSY is told by status 69 and its name, and a wait outlives it" *
          doctest::test_suite("R2")) {
  Server server({.args = {"--lua-time-limit", "20"}});
  load_scripts(server);
  server.command({"HSET", "job", "foreign:1", "1"});
  server.command({"PEXPIRE", "job", "600000"});
  Process waiter(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "echo", "got"));
  REQUIRE(comes_to_wait(server));
  RespClient looper = server.connect();
  std::thread loop([&] { looper.call({"EVAL", "while true do end", "0"}, 60s); });
  const bool busy = wait_until([&] { return has(server.command({"PING"}), "BUSY"); });
  if (busy) {
    check_takers_refused(server.tcp_url(), 69, "BUSY");
    check_refused(invoke(server.tcp_url(), {"inspect-queue", "job"}), 69);
  }
  wait_until([&] { return server.command({"SCRIPT", "KILL"}) == "OK"; });
  loop.join();
  CHECK(busy);
  server.command({"DEL", "job"});
  server.command({"PUBLISH", "redisson_lock__channel:{job}", "0"});
  const Result result = waiter.wait();
  CHECK(result.status == 0);
  CHECK(result.out == "got\n");
  CHECK(result.err.empty());
}

TEST_CASE("R2: without memory nothing is taken, and what is held can be renewed and released" *
          doctest::test_suite("R2")) {
  Server server;
  load_scripts(server);
  const std::string owner = acquire(server, "job");
  const std::string twice = acquire(server, "twice");
  server.command({"HSET", "twice", twice, "2"});
  Process nested(
      rlock_argv("exec", "-r", server.unix_url(), "nest", "--", rlock_program(), "exec", "-r",
                 server.unix_url(), "nest", "--", "sh", "-c", "echo ready; cat > /dev/null"),
      {.hold_stdin = true});
  nested.wait_for_stdout("ready");
  CHECK(server.command({"HVALS", "nest"}) == "2");
  server.command({"PEXPIRE", "job", "20000"});
  server.command({"CONFIG", "SET", "maxmemory", "1"});

  check_refused(invoke(server.tcp_url(), {"exec", "-n", "job", "--", "true"}), 75);  // only reads
  for (const Words& words :
       {Words{"exec", "free", "--", "echo", "ran"}, Words{"acquire", "--no-watchdog", "free"}}) {
    const Result result = invoke(server.tcp_url(), words);
    check_refused(result, 69);
    CHECK(has(result.err, "OOM"));
  }
  CHECK(server.command({"EXISTS", "free"}) == "0");

  CHECK(invoke(server.unix_url(), {"renew", "--owner", owner, "--lease", "90s", "job"}).status ==
        0);
  CHECK(pttl(server) > 30'000);
  CHECK(invoke(server.unix_url(), {"unlock", "--owner", twice, "twice"}).status == 0);
  CHECK(server.command({"HGET", "twice", twice}) == "1");
  for (const auto& [name, who] : {std::pair("twice", twice), std::pair("job", owner)}) {
    CAPTURE(name);
    const Result result = invoke(server.unix_url(), {"unlock", "--owner", who, name});
    CHECK(result.status == 0);
    CHECK(result.err.empty());
  }
  nested.close_stdin();
  const Result result = nested.wait();
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  server.command({"CONFIG", "SET", "maxmemory", "0"});
  for (const char* key : {"job", "twice", "nest"}) CHECK(server.command({"EXISTS", key}) == "0");
}

TEST_CASE("R2: a replica is told by status 69, and locks on it cannot be changed" *
          doctest::test_suite("R2")) {
  Server server;
  load_scripts(server);
  const std::string owner = acquire(server, "held");
  server.command({"REPLICAOF", "127.0.0.1", std::to_string(free_port())});
  check_takers_refused(server.tcp_url(), 69, "READONLY");
  check_refused(invoke(server.tcp_url(), {"unlock", "--owner", owner, "held"}), 69);
  check_refused(invoke(server.tcp_url(), {"unlock", "--force", "-y", "held"}), 69);
  check_refused(invoke(server.tcp_url(), {"renew", "--owner", owner, "--lease", "1h", "held"}), 69);
  CHECK(server.command({"EXISTS", "held"}) == "1");
  CHECK(invoke(server.tcp_url(), {"inspect-queue", "held"}).status == 0);
}

TEST_CASE("R2: a replica that lacks a lock does not say that nobody holds it" *
          doctest::test_suite("R2")) {
  Server server;
  server.command({"HSET", "read", "mode", "read", "other:1", "1"});
  server.command({"SET", "string", "other"});
  server.command({"SET", "semaphore", "0"});
  server.command({"ZADD", "{semaphore}:timeout", "1", k_foreign_owner});
  server.command({"REPLICAOF", "127.0.0.1", std::to_string(free_port())});
  for (const char* name : {"nothing", "read", "string", "semaphore"}) {
    CAPTURE(name);
    check_refused(invoke(server.tcp_url(), {"renew", "--owner", k_foreign_owner, name}), 69);
    check_refused(invoke(server.tcp_url(), {"unlock", "--owner", k_foreign_owner, name}), 69);
  }
  check_refused(invoke(server.tcp_url(), {"evict", "nothing", k_foreign_owner}), 69);
}

TEST_CASE("R2: too many clients are told by status 69 and their name" * doctest::test_suite("R2")) {
  Server server;
  RespClient admin = server.connect();
  admin.call({"CONFIG", "SET", "maxclients", "1"});
  for (const std::string& url : {server.tcp_url(), server.unix_url()}) {
    const Result result = invoke(url, {"exec", "job", "--", "echo", "ran"}, "500ms");
    check_refused(result, 69);
    // The server closes the connection at once, so that its reason may be lost on the way, and of
    // several attempts the last may come too late for an answer.
    const bool told = has(result.err, "max number of clients");
    CHECK((told || has(result.err, "connection") || has(result.err, "no answer")));
  }
  admin.call({"CONFIG", "SET", "maxclients", "100"});
  CHECK(server.keys().empty());
}

TEST_CASE("R2: authentication and permission are told by status 77" * doctest::test_suite("R2")) {
  Server server({.args = {"--requirepass", "right-Horse"}});
  const std::string port = std::to_string(server.port());
  const auto at = [&](const std::string& who) { return "redis://" + who + "127.0.0.1:" + port; };
  SUBCASE("no password") { check_all_refused(at(""), 77); }
  SUBCASE("a wrong password") { check_all_refused(at(":wrong@"), 77); }
  SUBCASE("an unknown user") { check_all_refused(at("nobody:right-Horse@"), 77); }
  SUBCASE("a user without commands") {
    server.command({"ACL", "SETUSER", "bare", "on", ">pw", "~*", "&*", "-@all"});
    check_all_refused(at("bare:pw@"), 77);
  }
  SUBCASE("a user without keys") {
    server.command({"ACL", "SETUSER", "keyless", "on", ">pw", "~other:*", "&*", "+@all"});
    for (const Words& words : k_commands) {
      if (words[0] == "list" || words[0] == "watch") continue;  // list leaves such keys out
      check_refused(invoke(at("keyless:pw@"), words), 77);
    }
  }
  SUBCASE("a user whom scripts give no more than he has") {
    server.command({"ACL", "SETUSER", "reader", "on", ">pw", "~*", "&*", "+@all", "-@write"});
    check_refused(invoke(at("reader:pw@"), k_commands[0]), 77);
  }
  SUBCASE("a user who may not listen, while he would have to wait") {
    server.command({"ACL", "SETUSER", "deaf", "on", ">pw", "~*", "resetchannels", "+@all"});
    server.command({"HSET", "job", "foreign:1", "1"});
    server.command({"PEXPIRE", "job", "600000"});
    check_refused(invoke(at("deaf:pw@"), {"exec", "-w", "1m", "job", "--", "echo", "ran"}), 77);
    check_refused(invoke(at("deaf:pw@"), {"watch", "job"}), 77);
    CHECK(invoke(at("deaf:pw@"), k_commands[1]).status == 75);
    server.command({"DEL", "job"});
  }
  CHECK(server.keys().empty());
}

TEST_CASE("R2: a password where the server has none is told by status 77" *
          doctest::test_suite("R2")) {
  Server server;
  const std::string port = std::to_string(server.port());
  check_refused(invoke("redis://nobody:secret@127.0.0.1:" + port, k_commands[0]), 77);
}

TEST_CASE("a name that is another kind of thing is told by status 76 and left alone") {
  Server server;
  server.command({"SET", "text", "a token"});
  server.command({"RPUSH", "list", "x"});
  server.command({"SADD", "set", "x"});
  server.command({"ZADD", "zset", "1", "x"});
  server.command({"XADD", "stream", "*", "a", "b"});
  server.command({"HSET", "rw", "mode", "read", "u:1", "1"});
  server.command({"HSET", "hash", "f", "v"});
  server.command({"HSET", "counts", "a:1", "1", "b", "2"});
  for (const std::string name : {"text", "list", "set", "zset", "stream", "rw", "hash", "counts"}) {
    CAPTURE(name);
    const std::string before = server.command({"DUMP", name});
    for (const Words& words :
         {Words{"exec", name, "--", "echo", "ran"}, Words{"exec", "-n", name, "--", "echo", "ran"},
          Words{"acquire", "--no-watchdog", name}, Words{"evict", name, "u:1"},
          Words{"unlock", "--force", "-y", name}}) {
      if (name == "rw" && words[0] == "unlock") continue;  // it can be broken
      // Who waits in a queue does not depend on what a hash holds.
      if ((name == "hash" || name == "counts") && words[0] == "evict") continue;
      const Result result = invoke(server.unix_url(), words);
      check_refused(result, 76);
      CHECK(has(result.err, name));
    }
    CHECK(invoke(server.unix_url(), {"unlock", "--owner", "u:2", name}).status == 1);
    CHECK(invoke(server.unix_url(), {"renew", "--owner", "u:2", name}).status == 1);
    CHECK(invoke(server.unix_url(), {"inspect-queue", name}).status == 0);
    CHECK(server.command({"DUMP", name}) == before);
  }
}
