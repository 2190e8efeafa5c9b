// inspect-queue leaves everything as it is.
// Labels: rights-fair
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/process.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

// Every key byte for byte, and when it expires.
Words all_of(const Server& server) {
  Words state;
  for (const std::string& key : server.keys()) {
    state.push_back(key);
    state.push_back(server.command({"DUMP", key}));
    state.push_back(server.command({"PEXPIRETIME", key}));
  }
  return state;
}

void inspect(const Server& server, const std::string& name) {
  CAPTURE(name);
  const Words before = all_of(server);
  for (const char* form : {"--json", "--verbose"}) {
    const Result result = run(rlock_argv("inspect-queue", form, "-r", server.unix_url(), name));
    CHECK(result.status == 0);
    CHECK(result.err.empty());
  }
  CHECK(all_of(server) == before);
}

void make_locks(const Server& server) {
  server.command({"HSET", "plain", "a:1", "2"});
  server.command({"PEXPIRE", "plain", "600000"});
  server.command({"SET", "string", "token", "PX", "600000"});
  server.command({"HSET", "rw", "mode", "read", "a:1", "1", "b:2", "3"});
  server.command({"SET", "{rw}:a:1:rwlock_timeout:1", "1", "PX", "600000"});
  server.command({"HSET", "eternal", "a:1", "1"});
  server.command({"RPUSH", "wrong", "x"});
  for (const char* name : {"fair", "broken", "long"}) {
    const std::string tag = "{" + std::string(name) + "}";
    server.command({"HSET", name, "a:1", "1"});
    server.command({"PEXPIRE", name, "600000"});
    server.command({"RPUSH", "redisson_lock_queue:" + tag, "b:2", "c:3"});
    server.command({"PEXPIRE", "redisson_lock_queue:" + tag, "500000"});
    server.command({"ZADD", "redisson_lock_timeout:" + tag, "1900000000000", "b:2", "5", "c:3"});
    server.command({"HSET", "rlock_info:" + tag, "b:2", "{\"host\":\"h\",\"due\":1}"});
    server.command({"PEXPIRE", "rlock_info:" + tag, "500000"});
    server.command({"SET", "redisson_lock_token:" + tag, "7"});
  }
  // Dead, without a score, without a place, twice, far ahead, and no JSON.
  server.command({"RPUSH", "redisson_lock_queue:{broken}", "no score", "b:2", ""});
  server.command({"ZADD", "redisson_lock_timeout:{broken}", "-inf", "orphan", "1e300", ""});
  server.command({"HSET", "rlock_info:{broken}", "c:3", "[[[", "called", "{\"owner\":\"b:2\"}"});
  server.command({"EVAL",
                  "for i = 1, 5000 do redis.call('rpush', KEYS[1], 'w:' .. i) "
                  "redis.call('zadd', KEYS[2], i, 'w:' .. i) end",
                  "2", "redisson_lock_queue:{long}", "redisson_lock_timeout:{long}"});
}

const Words k_names = {"none",  "plain", "string", "rw",  "eternal",
                       "wrong", "fair",  "broken", "long"};

}  // namespace

TEST_CASE("inspect-queue changes nothing, whatever the lock") {
  Server server;
  make_locks(server);
  for (const std::string& name : k_names) inspect(server, name);
}

TEST_CASE("inspect-queue changes nothing where keys are of the wrong type") {
  Server server;
  server.command({"SET", "redisson_lock_queue:{job}", "x"});
  server.command({"RPUSH", "redisson_lock_timeout:{job}", "x"});
  server.command({"SADD", "rlock_info:{job}", "x"});
  server.command({"HSET", "redisson_lock_token:{job}", "x", "y"});
  inspect(server, "job");
}

TEST_CASE("inspect-queue works for a user who may only read") {
  Server server;
  make_locks(server);
  const std::string made = server.command({"ACL", "SETUSER", "reader", "on", ">secret", "resetkeys",
                                           "%R~*", "&*", "-@all", "+@read", "+@connection", "+time",
                                           "+eval_ro", "+evalsha_ro", "+pubsub|numsub", "+info"});
  if (made != "OK") {
    MESSAGE("this server knows no such rights: " << made);
    return;
  }
  for (const std::string& name : k_names) {
    CAPTURE(name);
    const Result mine = run(rlock_argv("inspect-queue", "-r", server.unix_url(), name));
    const Result theirs = run(rlock_argv("inspect-queue", "-r", server.unix_url(), name),
                              {.env = {{"RLOCK_USER", "reader"}, {"RLOCK_PASSWORD", "secret"}}});
    CHECK(theirs.err.empty());
    CHECK(theirs.status == 0);
    CHECK(theirs.out.substr(0, name.size() + 6) == mine.out.substr(0, name.size() + 6));
    CHECK(std::count(theirs.out.begin(), theirs.out.end(), '\n') ==
          std::count(mine.out.begin(), mine.out.end(), '\n'));
  }
}
