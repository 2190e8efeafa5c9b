// inspect-queue: one snapshot of a lock, for people and for programs.
// Labels: server rights-fair quick
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/foreign_owner.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

// Runs inspect-queue --json; the output is one line.
std::string json_of(const Server& server, const std::string& name) {
  const Result result = run(rlock_argv("inspect-queue", "--json", "-r", server.unix_url(), name));
  CAPTURE(result.err);
  REQUIRE(result.status == 0);
  CHECK(result.err.empty());
  CHECK(std::count(result.out.begin(), result.out.end(), '\n') == 1);
  return result.out;
}

std::string text_of(const Server& server, const std::string& name) {
  const Result result = run(rlock_argv("inspect-queue", "-r", server.unix_url(), name));
  REQUIRE(result.status == 0);
  CHECK(result.err.empty());
  return result.out;
}

// A value of the parsed JSON, by the server's own parser: `path` as in Lua, such as
// ".holders[1].owner". "null" for null.
std::string value(const Server& server, const std::string& json, const std::string& path) {
  return server.command({"EVAL",
                         "local v = cjson.decode(ARGV[1])" + path +
                             " if v == cjson.null then return 'null' end return tostring(v)",
                         "0", json});
}

std::string count(const Server& server, const std::string& json, const std::string& path) {
  return server.command({"EVAL", "return tostring(#cjson.decode(ARGV[1])" + path + ")", "0", json});
}

bool is_harmless(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c == '\n' || (byte >= 0x20 && byte != 0x7f);
  });
}

}  // namespace

TEST_CASE("inspect-queue of a free lock succeeds and says so") {
  Server server;
  CHECK(text_of(server, "job") == "job: free\n");
  const std::string json = json_of(server, "job");
  CHECK(
      json.starts_with("{\"name\":\"job\",\"server\":\"" + server.unix_url() + "\",\"time_ms\":"));
  CHECK(has(json,
            "\"state\":\"free\",\"kind\":null,\"ttl_ms\":null,\"token\":null,\"holders\":[],"
            "\"waiters\":[],\"listening\":0,\"raw\":{\"hash\":{},\"queue\":[],\"zset\":[]},"
            "\"problems\":[],\"certain\":true,\"notes\":[],\"role\":\"master\","
            "\"replica_of\":null,\"data_age_ms\":null}"));
  CHECK(server.keys().empty());
}

TEST_CASE("inspect-queue shows who holds a lock") {
  Server server;
  Process job(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "sh", "-c",
                         "echo ready; cat > /dev/null"),
              {.env = {{"LOGNAME", "ann"}}, .hold_stdin = true});
  job.wait_for_stdout("ready");
  const std::string owner = server.command({"HKEYS", "job"});
  const std::string json = json_of(server, "job");
  CHECK(value(server, json, ".state") == "held");
  CHECK(value(server, json, ".kind") == "reentrant");
  CHECK(count(server, json, ".holders") == "1");
  CHECK(value(server, json, ".holders[1].owner") == owner);
  CHECK(value(server, json, ".holders[1].count") == "1");
  CHECK(value(server, json, ".holders[1].mode") == "exclusive");
  CHECK(value(server, json, ".holders[1].user") == "ann");
  CHECK(value(server, json, ".holders[1].command") == "sh");
  CHECK(value(server, json, ".holders[1].pid") == std::to_string(job.pid()));
  CHECK(value(server, json, ".holders[1].host") != "null");
  CHECK(value(server, json, ".raw.hash['" + owner + "']") == "1");
  const double ttl = std::stod(value(server, json, ".ttl_ms"));
  CHECK(ttl > 0);
  CHECK(ttl <= 30'000);
  const double age = std::stod(value(server, json, ".time_ms")) -
                     std::stod(value(server, json, ".holders[1].since_ms"));
  CHECK(age >= 0);
  CHECK(age < 600'000);
  const std::string text = text_of(server, "job");
  CHECK(has(text, "job: held (reentrant), expires in "));
  CHECK(has(text, " " + std::to_string(job.pid()) + "  sh       ann "));
  CHECK(has(text, "  " + owner + "\n"));
  job.close_stdin();
  CHECK(job.wait().status == 0);
}

TEST_CASE("inspect-queue shows a foreign holder, and a lock without an expiry as a problem") {
  Server server;
  server.command({"HSET", "job", k_foreign_owner, "3"});
  const std::string json = json_of(server, "job");
  CHECK(value(server, json, ".ttl_ms") == "-1");
  CHECK(value(server, json, ".holders[1].owner") == k_foreign_owner);
  CHECK(value(server, json, ".holders[1].count") == "3");
  for (const char* key : {"host", "user", "command", "pid", "since_ms"}) {
    CHECK(value(server, json, std::string(".holders[1].") + key) == "null");
  }
  CHECK(value(server, json, ".problems[1].code") == "no_expiry");
  CHECK(has(text_of(server, "job"), "without an expiry"));
  // What mends it names the server that was asked.
  const std::string hint = value(server, json, ".problems[1].hint");
  CHECK(hint.starts_with("rlock -r " + server.unix_url() + " "));
  CHECK(hint.ends_with("unlock --force job  # if its holder is gone"));
}

TEST_CASE("inspect-queue does not take an application's hash for a lock") {
  Server server;
  server.command({"HSET", "job", "name", "ann"});
  server.command({"HSET", "rlock_info:{job}", "x", "{}"});
  const std::string json = json_of(server, "job");
  CHECK(value(server, json, ".kind") == "unknown");
  CHECK(count(server, json, ".problems") == "1");
  CHECK(value(server, json, ".problems[1].code") == "wrong_kind");
  // Nor does a queue beside it make it one.
  server.command({"RPUSH", "redisson_lock_queue:{job}", "w:1"});
  CHECK(value(server, json_of(server, "job"), ".kind") == "unknown");
}

TEST_CASE("inspect-queue shows the queue of a fair lock in its order") {
  Server server;
  server.command({"HSET", "job", k_foreign_owner, "1"});
  server.command({"PEXPIRE", "job", "60000"});
  server.command({"RPUSH", "redisson_lock_queue:{job}", "b:2", "a:1", "c:3"});
  server.command({"ZADD", "redisson_lock_timeout:{job}", "1900000000000", "b:2", "1900000000001.5",
                  "a:1", "inf", "lost:9"});
  server.command({"SET", "redisson_lock_token:{job}", "77"});
  const std::string json = json_of(server, "job");
  CHECK(value(server, json, ".kind") == "fair");
  CHECK(value(server, json, ".token") == "77");
  CHECK(count(server, json, ".waiters") == "3");
  CHECK(value(server, json, ".waiters[1].position") == "1");
  CHECK(value(server, json, ".waiters[1].owner") == "b:2");
  CHECK(has(json, "\"deadline_ms\":1900000000000,"));
  CHECK(value(server, json, ".waiters[3].owner") == "c:3");
  CHECK(value(server, json, ".waiters[3].deadline_ms") == "null");
  CHECK(value(server, json, ".raw.queue[2]") == "a:1");
  CHECK(count(server, json, ".raw.zset") == "3");
  CHECK(value(server, json, ".raw.zset[1].member") == "b:2");
  CHECK(has(json, "\"score\":1900000000000}"));
  const std::string text = text_of(server, "job");
  CHECK(text.find("\n1  in ") < text.find("  b:2\n2  in "));
  CHECK(text.find("  b:2\n2  in ") < text.find("  a:1\n3  none "));
}

TEST_CASE("inspect-queue knows the other kinds of lock") {
  Server server;
  server.command({"HSET", "rw", "mode", "write", k_foreign_owner + ":write", "2"});
  server.command({"SET", "plain", "a token", "PX", "60000"});
  server.command({"RPUSH", "list", "x"});
  const std::string rw = json_of(server, "rw");
  CHECK(value(server, rw, ".kind") == "read-write");
  CHECK(count(server, rw, ".holders") == "1");
  CHECK(value(server, rw, ".holders[1].mode") == "write");
  CHECK(value(server, rw, ".raw.hash.mode") == "write");
  server.command({"HSET", "rw", "mode", "read", "r:1", "1"});
  CHECK(has(json_of(server, "rw"), "\"mode\":\"read\",\"host\""));
  const std::string plain = json_of(server, "plain");
  CHECK(value(server, plain, ".kind") == "simple");
  CHECK(value(server, plain, ".holders[1].owner") == "a token");
  const std::string list = json_of(server, "list");
  CHECK(value(server, list, ".kind") == "unknown");
  CHECK(value(server, list, ".problems[1].code") == "wrong_kind");
  CHECK(has(text_of(server, "list"), "list: not a lock, but a list\n"));
  server.command({"HSET", "user", "name", "ann"});
  const std::string user = text_of(server, "user");
  CHECK(has(user, "user: not a lock, but a hash\n"));
  CHECK_FALSE(has(user, "1 holder"));
}

TEST_CASE("inspect-queue survives whatever stands in the keys, and prints it harmlessly") {
  Server server;
  const std::string evil("\x1b[2J\0\xff\x07\r\n\xc2\x9b\"\\", 13);
  server.command({"HSET", "job", evil, evil, "", "", "big:1", "99999999999999999999"});
  server.command({"RPUSH", "redisson_lock_queue:{job}", evil, ""});
  server.command({"ZADD", "redisson_lock_timeout:{job}", "-inf", evil, "1e300", "x", "0.1", "y"});
  server.command({"SET", "redisson_lock_token:{job}", evil});
  server.command(
      {"HSET", "rlock_info:{job}", evil,
       "{\"host\":\"\\u001b[2J\\n\",\"user\":7,\"command\":null,\"pid\":1e99,\"since\":-1e99}", "",
       "[[[[", "big:1", "{\"host\":\"h\",\"pid\":\"1\",\"since\":\"x\"}"});
  const std::string json = json_of(server, "job");
  CHECK(value(server, json, ".state") == "held");
  CHECK(has(json, "\\\\xff"));
  CHECK(has(json, "\\u0000"));
  CHECK(count(server, json, ".holders") == "3");
  CHECK(count(server, json, ".raw.zset") == "3");
  CHECK(is_harmless(json));
  const std::string text = text_of(server, "job");
  CHECK(is_harmless(text));
  CHECK(has(text, "\\x1b[2J\\x00\\xff\\x07\\x0d\\n"));
  const Result raw = run(rlock_argv("inspect-queue", "-v", "-r", server.unix_url(), "job"));
  CHECK(is_harmless(raw.out));
  CHECK(raw.out.size() > text.size());
}

TEST_CASE("inspect-queue survives side keys of the wrong type and names them") {
  Server server;
  server.command({"HSET", "job", k_foreign_owner, "1"});
  server.command({"PEXPIRE", "job", "60000"});
  server.command({"SET", "redisson_lock_queue:{job}", "x"});
  server.command({"RPUSH", "redisson_lock_timeout:{job}", "x"});
  server.command({"SADD", "rlock_info:{job}", "x"});
  server.command({"HSET", "redisson_lock_token:{job}", "x", "y"});
  const std::string json = json_of(server, "job");
  CHECK(value(server, json, ".state") == "held");
  CHECK(count(server, json, ".problems") == "4");
  CHECK(value(server, json, ".problems[1].code") == "wrong_kind");
  text_of(server, "job");
}

TEST_CASE("inspect-queue shows a queue of many thousands") {
  Server server;
  server.command({"EVAL",
                  "for i = 1, 20000 do redis.call('rpush', KEYS[1], 'waiter:' .. i) "
                  "redis.call('zadd', KEYS[2], 1900000000000 + i, 'waiter:' .. i) end",
                  "2", "redisson_lock_queue:{job}", "redisson_lock_timeout:{job}"});
  const std::string json = json_of(server, "job");
  CHECK(has(json, "{\"position\":20000,\"owner\":\"waiter:20000\",\"deadline_ms\":1900000020000,"));
  const std::string text = text_of(server, "job");
  CHECK(has(text, "\n20000 waiters, 1000 of them dead, 19000 of them perhaps dead\n"));
  CHECK(has(text, "\n20000  in "));
}
