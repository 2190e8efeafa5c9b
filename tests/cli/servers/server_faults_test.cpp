// What the user sees when the server cannot serve: a status, one line, and nothing left behind.
#include <algorithm>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/fake_server.hpp"
#include "support/foreign_owner.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/proxy.hpp"
#include "support/resp.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

// What a process may take while it refuses a reply. The sanitizers' own memory comes on top.
const long k_most_kib = (is_sanitized() ? 256L : 32L) * 1024;

Result invoke(const std::string& url, Words words, const std::string& timeout = "3s") {
  return run(rlock_argv("-r", url, "--timeout", timeout, words));
}

void check_refused(const Result& result, int status) {
  CAPTURE(result.err);
  CAPTURE(result.out);
  CHECK(result.status == status);
  CHECK_FALSE(result.signaled);
  CHECK(is_one_message(result.err));
  CHECK(result.out.empty());
}

const std::vector<Words> k_commands = {
    {"exec", "job", "--", "echo", "ran"},
    {"exec", "-n", "job", "--", "echo", "ran"},
    {"acquire", "--no-watchdog", "job"},
    {"renew", "--owner", "u:1", "job"},
    {"unlock", "--owner", "u:1", "job"},
    {"unlock", "--force", "-y", "job"},
    {"evict", "job", "u:1"},
    {"inspect-queue", "job"},
    {"inspect-queue", "--json", "job"},
    {"list", "*"},
    {"watch", "job"},
};

// Every command meets the server and is refused with `status`.
void check_all_refused(const std::string& url, int status, const std::string& timeout = "3s") {
  for (const Words& words : k_commands) {
    CAPTURE(words[0]);
    CAPTURE(words[1]);
    check_refused(invoke(url, words, timeout), status);
  }
}

// The commands that must write are refused with `status`.
void check_takers_refused(const std::string& url, int status, std::string_view why) {
  for (const Words& words : {k_commands[0], k_commands[1], k_commands[2]}) {
    CAPTURE(words[0]);
    const Result result = invoke(url, words);
    check_refused(result, status);
    CHECK(has(result.err, why));
  }
}

std::size_t rlock_clients(const Server& server) {
  const std::string list = server.command({"CLIENT", "LIST"});
  std::size_t count = 0;
  for (std::size_t at = list.find("name=rlock"); at != std::string::npos;
       at = list.find("name=rlock", at + 1)) {
    ++count;
  }
  return count;
}

// How often a command was called, whatever became of it.
long calls(const Server& server, const std::string& command) {
  const std::string stats = server.command({"INFO", "commandstats"});
  const std::string key = "cmdstat_" + command + ":calls=";
  const std::size_t at = stats.find(key);
  return at == std::string::npos ? 0 : std::stol(stats.substr(at + key.size()));
}

// Loads the scripts into the server, so that EVALSHA finds them.
void load_scripts(const Server& server) {
  REQUIRE(invoke(server.unix_url(), {"exec", "warm", "--", "true"}).status == 0);
  const Result taken = invoke(server.unix_url(), {"acquire", "--no-watchdog", "warm"});
  const std::string owner = taken.out.substr(0, taken.out.find('\n'));
  REQUIRE(invoke(server.unix_url(), {"renew", "--owner", owner, "warm"}).status == 0);
  REQUIRE(invoke(server.unix_url(), {"unlock", "--force", "-y", "warm"}).status == 0);
  REQUIRE(server.keys().empty());
}

std::string acquire(const Server& server, const std::string& name) {
  const Result result = invoke(server.unix_url(), {"acquire", "--no-watchdog", name});
  REQUIRE(result.status == 0);
  return result.out.substr(0, result.out.find('\n'));
}

}  // namespace

TEST_CASE("R2: a server that is down is told by status 69 and one line") {
  const std::string port = std::to_string(free_port());
  check_all_refused("redis://127.0.0.1:" + port, 69);
  check_all_refused("unix:///nonexistent/redis.sock", 69);
  const Result result = invoke("redis://127.0.0.1:" + port, {"exec", "job", "--", "true"});
  CHECK(has(result.err, "redis://127.0.0.1:" + port));
  CHECK(has(result.err, "Connection refused"));
  check_refused(invoke("redis://no-such-host.invalid", {"inspect-queue", "job"}), 69);
}

TEST_CASE("R2: a server that never answers costs the timeout, not a hang") {
  const FakeServer server;
  check_all_refused(server.url(), 69, "200ms");
}

TEST_CASE("R2: a server that closes at once is told by status 69") {
  const FakeServer server(FakeOptions{.replies = {""}, .close_after = true});
  check_all_refused(server.url(), 69, "300ms");
}

TEST_CASE("R2: half a reply is told by status 69") {
  SUBCASE("and then silence") {
    const FakeServer server(FakeOptions{.replies = {"+OK\r\n*2\r\n:1\r\n"}});
    check_all_refused(server.url(), 69, "100ms");
  }
  SUBCASE("and then the end") {
    const FakeServer server(FakeOptions{.replies = {"+OK\r\n*2\r\n:1\r\n"}, .close_after = true});
    check_all_refused(server.url(), 69, "150ms");
  }
  SUBCASE("byte for byte, slower than the timeout") {
    const FakeServer server(FakeOptions{
        .replies = {"+OK\r\n*2\r\n:1\r\n$900\r\n" + std::string(900, 'x')}, .drip = 20ms});
    check_all_refused(server.url(), 69, "100ms");
  }
}

TEST_CASE("R2: an answer that makes no sense is told by status 76") {
  // The first reply is the one to CLIENT SETNAME, which nobody reads.
  for (const std::string& nonsense :
       {std::string("HTTP/1.1 400 Bad Request\r\n\r\n"), std::string("+OK\r\nSSH-2.0-OpenSSH\r\n"),
        std::string("+OK\r\n*1\r\n$-7\r\n"), std::string("+OK\r\n*-5\r\n"),
        std::string("+OK\r\n:not a number\r\n"), std::string("+OK\r\n$5\r\nabcdefgh\r\n"),
        std::string(
            "+OK\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"),
        std::string("+OK\r\n\0\0\0\0\r\n", 11)}) {
    CAPTURE(nonsense);
    const FakeServer server(FakeOptions{.replies = {nonsense}});
    check_refused(invoke(server.url(), {"exec", "job", "--", "echo", "ran"}), 76);
    check_refused(invoke(server.url(), {"inspect-queue", "job"}), 76);
  }
}

TEST_CASE("R2: a well-formed answer of the wrong shape is told by status 76") {
  for (const char* shape : {"+PONG\r\n", "$-1\r\n", "*0\r\n", "*1\r\n:99\r\n", "*2\r\n:0\r\n:1\r\n",
                            "*1\r\n$1\r\nx\r\n", "*1\r\n*0\r\n", "*-1\r\n", "*1\r\n:1\r\n"}) {
    CAPTURE(shape);
    const FakeServer server(FakeOptions{.replies = {std::string("+OK\r\n") + shape}});
    check_refused(invoke(server.url(), {"exec", "job", "--", "echo", "ran"}), 76);
    check_refused(invoke(server.url(), {"inspect-queue", "job"}), 76);
    check_refused(invoke(server.url(), {"watch", "job"}), 76);
    check_refused(invoke(server.url(), {"list"}), 76);
  }
}

TEST_CASE("R2: a reply of a gigabyte is refused before memory is taken for it") {
  for (const char* start : {"+OK\r\n$1073741824\r\n", "+OK\r\n*1\r\n$1000000000\r\n", "+OK\r\n+"}) {
    CAPTURE(start);
    const FakeServer server(FakeOptions{.replies = {start}, .stream = true});
    Process process(
        rlock_argv("-r", server.url(), "--timeout", "10s", "exec", "job", "--", "echo"));
    long most = 0;
    wait_until([&] {
      most = std::max(most, resident_kib(process.pid()));
      return !process.running();
    });
    check_refused(process.wait(), 76);
    CHECK(most < k_most_kib);
  }
  for (const char* start : {"+OK\r\n*1000000000\r\n", "+OK\r\n*1\r\n*2147483647\r\n"}) {
    CAPTURE(std::string(start));
    const FakeServer server(FakeOptions{.replies = {start}});
    check_refused(invoke(server.url(), {"exec", "job", "--", "echo", "ran"}), 76);
    // A snapshot may be large: there its elements are waited for, without memory for them.
    const Result result = invoke(server.url(), {"inspect-queue", "job"}, "200ms");
    check_refused(result, result.status == 69 ? 69 : 76);
  }
}

TEST_CASE("R2: an error of the server cannot forge a message or move the cursor") {
  const FakeServer server(
      FakeOptions{.replies = {"+OK\r\n-ERR \x1b[2J\x07 gone\xff rlock: all is well\r\n"}});
  const Result result = invoke(server.url(), {"exec", "job", "--", "echo", "ran"});
  check_refused(result, 76);
  CHECK_FALSE(has(result.err, "\x1b"));
  CHECK(has(result.err, "\\x1b[2J\\x07"));
}

TEST_CASE("R2: a server that is stopped costs the timeout, and the late request leaves no lock") {
  Server server;
  load_scripts(server);
  for (const std::string& url : {server.unix_url(), server.tcp_url()}) {
    CAPTURE(url);
    server.command({"CONFIG", "RESETSTAT"});
    server.pause();
    check_refused(invoke(url, {"exec", "job", "--", "echo", "ran"}, "3s"), 69);
    check_refused(invoke(url, {"acquire", "--no-watchdog", "job"}, "3s"), 69);
    server.resume();
    // Both requests are carried out late, each with what undoes it behind it.
    CHECK(wait_until([&] { return calls(server, "evalsha") >= 2 && calls(server, "eval") >= 2; }));
    CHECK(comes_to_be_empty(server));
    CHECK(wait_until([&] { return rlock_clients(server) == 0; }));
  }
}

TEST_CASE("R2: a stopped server keeps no command from being refused in time") {
  Server server;
  server.pause();
  check_all_refused(server.tcp_url(), 69, "200ms");
  server.resume();
}

TEST_CASE("R2: a release that the stopped server cannot answer is told, and done later") {
  Server server;
  load_scripts(server);
  Process job(rlock_argv("exec", "-r", server.tcp_url(), "--timeout", "3s", "job", "--", "sh", "-c",
                         "echo ready; read x; exit 5"),
              {.hold_stdin = true});
  job.wait_for_stdout("ready");
  server.pause();
  job.close_stdin();
  const Result result = job.wait();
  CAPTURE(result.err);
  CHECK(result.status == 5);
  CHECK(is_one_message(result.err));
  CHECK(has(result.err, "job: not released"));
  server.resume();
  CHECK(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
}

TEST_CASE("R2: a network that swallows everything is told by status 69, and leaves no lock") {
  Server server;
  load_scripts(server);
  Proxy proxy(server.port());
  SUBCASE("before the request arrives") {
    server.command({"CONFIG", "RESETSTAT"});
    proxy.set_mode(Mode::blackhole);
    check_refused(invoke(proxy.url(), {"exec", "job", "--", "echo", "ran"}, "3s"), 69);
    CHECK(server.keys().empty());
    proxy.set_mode(Mode::pass);  // now the request and what undoes it arrive
    CHECK(wait_until([&] { return calls(server, "evalsha") >= 1 && calls(server, "eval") >= 1; }));
  }
  SUBCASE("only the replies") {
    proxy.set_mode(Mode::swallow_replies);
    check_refused(invoke(proxy.url(), {"exec", "job", "--", "echo", "ran"}, "300ms"), 69);
    check_refused(invoke(proxy.url(), {"acquire", "--no-watchdog", "job"}, "300ms"), 69);
  }
  CHECK(comes_to_be_empty(server));
  proxy.cut();
  CHECK(wait_until([&] { return rlock_clients(server) == 0; }));
}

TEST_CASE("R2: a signal while the server does not answer ends rlock and leaves no lock") {
  Server server;
  load_scripts(server);
  server.command({"CONFIG", "RESETSTAT"});
  Proxy proxy(server.port());
  proxy.set_mode(Mode::swallow_replies);
  Process process(rlock_argv("exec", "-r", proxy.url(), "--timeout", "60s", "job", "--", "echo"));
  REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "1"; }));
  process.signal(SIGTERM);
  const Result result = process.wait();
  CHECK(result.status == 128 + SIGTERM);
  CHECK(result.out.empty());
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("R2: LOADING is told by status 69 and its name") {
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

TEST_CASE("R2: BUSY is told by status 69 and its name, and a wait outlives it") {
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

TEST_CASE("R2: without memory nothing is taken, and what is held can be renewed and released") {
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

TEST_CASE("R2: a replica is told by status 69, and locks on it cannot be changed") {
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

TEST_CASE("R2: a replica that lacks a lock does not say that nobody holds it") {
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

TEST_CASE("R2: too many clients are told by status 69 and their name") {
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

TEST_CASE("R2: authentication and permission are told by status 77") {
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
    check_refused(invoke(at("deaf:pw@"), k_commands[0]), 77);
    check_refused(invoke(at("deaf:pw@"), {"watch", "job"}), 77);
    CHECK(invoke(at("deaf:pw@"), k_commands[1]).status == 75);
    server.command({"DEL", "job"});
  }
  CHECK(server.keys().empty());
}

TEST_CASE("R2: a password where the server has none is told by status 77") {
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

TEST_CASE("R2: a server of another protocol is told in one line") {
  Server server;  // its TLS-less port gets no TLS: refused before anything is sent
  check_refused(invoke("http://127.0.0.1:" + std::to_string(server.port()), k_commands[0]), 64);
}
