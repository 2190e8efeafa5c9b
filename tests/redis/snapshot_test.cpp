// snapshot.lua and what is made of it
#include "lock/inspection/snapshot.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "lock/words/key_names.hpp"
#include "redis/client.hpp"
#include "redis/server_error.hpp"
#include "redis/url.hpp"
#include "support/fair_lock.hpp"
#include "support/foreign_owner.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock;
using lock::Kind;
using lock::Snapshot;
using test::has;

namespace {

redis::Client client_of(const test::Server& server) {
  redis::ClientOptions options;
  options.endpoint = redis::parse_url(server.unix_url());
  options.reply_limit = redis::k_large_reply;
  options.timeout = Milliseconds(30'000);  // a busy machine is slow
  return redis::Client(options);
}

}  // namespace

TEST_CASE("snapshot: a free lock") {
  test::Server server;
  redis::Client client = client_of(server);
  const Snapshot snapshot = lock::take_snapshot(client, "job");
  CHECK_FALSE(snapshot.held);
  CHECK(!snapshot.kind);
  CHECK(!snapshot.is_unknown);
  CHECK_FALSE(snapshot.ttl_ms);
  CHECK(snapshot.time_ms > 1'600'000'000'000);
  CHECK(snapshot.problems.empty());
  CHECK(server.keys().empty());
}

TEST_CASE("snapshot: holder, queue and scores are as they stand there") {
  test::Server server;
  redis::Client client = client_of(server);
  const std::string odd("a\0b\xff:1", 6);
  server.command({"HSET", "job", odd, "2"});
  server.command({"RPUSH", "redisson_lock_queue:{job}", "w:2", "w:1"});
  server.command({"ZADD", "redisson_lock_timeout:{job}", "5", "w:1", "-inf", "ghost"});
  server.command({"SET", "redisson_lock_token:{job}", "9"});
  const Snapshot snapshot = lock::take_snapshot(client, "job");
  CHECK(snapshot.held);
  CHECK(snapshot.kind == Kind::fair);
  CHECK(snapshot.ttl_ms == -1);
  CHECK(snapshot.token == 9);
  REQUIRE(snapshot.holders.size() == 1);
  CHECK(snapshot.holders[0].owner == odd);
  CHECK(snapshot.holders[0].count == 2);
  REQUIRE(snapshot.waiters.size() == 2);
  CHECK(snapshot.waiters[0].owner == "w:2");
  CHECK_FALSE(snapshot.waiters[0].deadline_ms);
  CHECK(snapshot.waiters[1].deadline_ms == 5);
  CHECK(snapshot.scores.size() == 2);
  REQUIRE(snapshot.problems.size() >= 1);
  CHECK(lock::code_of(snapshot.problems[0]) == "no_expiry");
}

TEST_CASE("snapshot: every type of key is shown as something") {
  test::Server server;
  redis::Client client = client_of(server);
  const std::vector<std::vector<std::string>> makers = {
      {"SET", "job", "x"},       {"RPUSH", "job", "x"},          {"SADD", "job", "x"},
      {"ZADD", "job", "1", "x"}, {"XADD", "job", "*", "a", "b"}, {"PFADD", "job", "x"}};
  for (const auto& maker : makers) {
    CAPTURE(maker[0]);
    server.command({"DEL", "job"});
    server.command(maker);
    const Snapshot snapshot = lock::take_snapshot(client, "job");
    CHECK(snapshot.held);
    const bool text = maker[0] == "SET" || maker[0] == "PFADD";
    CHECK(snapshot.kind == (text ? std::optional(Kind::simple) : std::nullopt));
    CHECK(snapshot.is_unknown != text);
  }
}

TEST_CASE("snapshot: permits that are out are shown also where the number of the rest is gone") {
  test::Server server;
  redis::Client client = client_of(server);
  const std::string end = std::to_string(test::server_time(server) + 600'000);
  server.command({"ZADD", "{job}:timeout", end, "u:1"});
  const Snapshot snapshot = lock::take_snapshot(client, "job");
  CHECK(snapshot.kind == Kind::semaphore);
  REQUIRE(snapshot.permits);
  CHECK(snapshot.permits->total == 1);
  CHECK(snapshot.permits->available == 0);
  REQUIRE(snapshot.holders.size() == 1);
  CHECK(snapshot.holders[0].owner == "u:1");
  // Beside an application's hash they are nobody's.
  server.command({"HSET", "job", "field", "x"});
  CHECK_FALSE(lock::take_snapshot(client, "job").permits);
}

namespace {

using Codes = std::vector<std::string>;

std::vector<std::string> codes_of(const Snapshot& snapshot) {
  std::vector<std::string> codes;
  for (const lock::Problem& problem : snapshot.problems) codes.push_back(lock::code_of(problem));
  return codes;
}

// More entries than one script is to read.
void fill_queue(const test::Server& server) {
  server.command({"EVAL",
                  "for i = 1, 3000 do redis.call('rpush', KEYS[1], 'w:' .. i) "
                  "if i ~= 7 then redis.call('zadd', KEYS[2], 1900000000000 + i, 'w:' .. i) end "
                  "redis.call('hset', KEYS[3], 'w:' .. i, '{\"pid\":' .. i .. '}') end",
                  "3", "redisson_lock_queue:{job}", "redisson_lock_timeout:{job}",
                  "rlock_info:{job}"});
  server.command({"HSET", "job", "a:1", "1"});
  server.command({"SET", "redisson_lock_token:{job}", "9"});
}

void check_queue(const Snapshot& snapshot) {
  CHECK(snapshot.kind == Kind::fair);
  CHECK(snapshot.ttl_ms == -1);
  CHECK(snapshot.token == 9);
  CHECK(snapshot.time_ms > 1'600'000'000'000);
  REQUIRE(snapshot.holders.size() == 1);
  CHECK(snapshot.holders[0].owner == "a:1");
  REQUIRE(snapshot.waiters.size() == 3000);
  CHECK_FALSE(snapshot.waiters[6].deadline_ms);
  CHECK(snapshot.waiters[6].alive == false);
  CHECK(snapshot.waiters[7].deadline_ms == 1900000000008);
  CHECK(snapshot.waiters[2999].owner == "w:3000");
  CHECK(snapshot.waiters[2999].deadline_ms == 1900000003000);
  REQUIRE(snapshot.waiters[2999].is_told);
  CHECK(snapshot.waiters[2999].about.pid == 3000);
  CHECK(snapshot.queue.size() == 3000);
  CHECK(snapshot.queue[2999] == "w:3000");
  CHECK(snapshot.scores.size() == 2999);
  CHECK(codes_of(snapshot) ==
        Codes{"no_expiry", "dead_head", "member_without_score", "deadline_far_ahead"});
}

}  // namespace

TEST_CASE("snapshot: a long queue") {
  test::Server server;
  fill_queue(server);
  redis::Client client = client_of(server);
  check_queue(lock::take_snapshot(client, "job"));
  check_queue(lock::take_snapshot(client, "job"));
  CHECK(has(server.command({"INFO", "commandstats"}), "cmdstat_exec:calls=2,"));
}

TEST_CASE("snapshot: a long queue, where the server refuses transactions or such scripts") {
  test::Server server;
  fill_queue(server);
  for (const char* refused : {"-multi", "-exec", "-evalsha_ro", "-lrange"}) {
    CAPTURE(refused);
    const bool by_script = std::string(refused) != "-lrange";
    server.command({"ACL", "SETUSER", "default", "allcommands"});
    redis::Client client = client_of(server);
    server.command({"ACL", "SETUSER", "default", refused});
    if (by_script) check_queue(lock::take_snapshot(client, "job"));
    if (!by_script) CHECK_THROWS_AS((void)lock::take_snapshot(client, "job"), redis::ServerError);
  }
}

TEST_CASE("snapshot: the end of a lock is where it is, however long the reading takes") {
  test::Server server;
  constexpr std::int64_t end = 4'000'000'000'000;
  server.command({"EVAL", "for i = 1, 30000 do redis.call('rpush', KEYS[1], 'waiter:' .. i) end",
                  "1", "redisson_lock_queue:{job}"});
  server.command({"HSET", "job", "a:1", "1"});
  server.command({"PEXPIREAT", "job", std::to_string(end)});
  server.command({"ACL", "SETUSER", "default", "-multi"});  // all of it is read by one script
  redis::Client client = client_of(server);
  CHECK(test::wait_until([&] {  // a server may be held up between two readings of its clock
    const Snapshot snapshot = lock::take_snapshot(client, "job");
    return std::abs(snapshot.time_ms + snapshot.ttl_ms.value_or(0) - end) <= 1;
  }));
}

TEST_CASE("snapshot: a long queue on a server without memory to spare") {
  test::Server server;
  fill_queue(server);
  server.command({"CONFIG", "SET", "maxmemory", "1000000"});
  REQUIRE(has(server.command({"SET", "x", "y"}), "OOM"));
  redis::Client client = client_of(server);
  check_queue(lock::take_snapshot(client, "job"));
}

TEST_CASE("snapshot: a long queue of another kind of lock, and beside keys of the wrong type") {
  test::Server server;
  fill_queue(server);
  server.command({"SET", "job", "token"});
  server.command({"SET", "rlock_info:{job}", "x"});
  server.command({"DEL", "redisson_lock_timeout:{job}"});
  redis::Client client = client_of(server);
  const Snapshot snapshot = lock::take_snapshot(client, "job");
  CHECK(snapshot.kind == Kind::simple);
  REQUIRE(snapshot.holders.size() == 1);
  CHECK(snapshot.holders[0].owner == "token");
  CHECK(snapshot.waiters.size() == 3000);
  CHECK(snapshot.scores.empty());
  CHECK(codes_of(snapshot) ==
        Codes{"no_expiry", "wrong_kind", "mixed_kinds", "dead_head", "member_without_score"});
}

TEST_CASE("snapshot: a reader whose keys are all gone is dead") {
  test::Server server;
  redis::Client client = client_of(server);
  const std::string a = test::k_foreign_client + ":1";
  const std::string b = test::k_foreign_client + ":2";
  const std::string c = test::k_foreign_client + ":3";
  server.command({"HSET", "job", "mode", "read", a, "1", b, "3", c, "2"});
  server.command({"PEXPIRE", "job", "60000"});
  server.command({"SET", "{job}:" + a + ":rwlock_timeout:1", "1"});
  server.command({"SET", "{job}:" + b + ":rwlock_timeout:3", "1"});
  Snapshot snapshot = lock::take_snapshot(client, "job");
  CHECK(snapshot.dead_readers == std::vector<std::string>{c});
  CHECK(codes_of(snapshot) == Codes{"dead_reader"});
  CHECK(std::get<lock::DeadReaders>(snapshot.problems[0]).readers.first == c);

  server.command({"SET", "{job}:" + c + ":rwlock_timeout:2", "1"});
  CHECK(lock::take_snapshot(client, "job").problems.empty());
}

TEST_CASE("snapshot: the keys of readers are named as Redisson names them") {
  test::Server server;
  redis::Client client = client_of(server);
  for (const std::string name : {"x{y}z", "{job}"}) {
    server.command({"HSET", name, "mode", "read", "a:1", "1", "b:2", "1"});
    server.command({"PEXPIRE", name, "60000"});
    server.command({"SET", name + ":a:1:rwlock_timeout:1", "1"});
    CHECK(lock::take_snapshot(client, name).dead_readers == std::vector<std::string>{"b:2"});
  }
}

TEST_CASE("snapshot: readers of whom it is not certain are not called dead") {
  test::Server server;
  redis::Client client = client_of(server);
  // A writer's own read hold, a count that is none, and one too large to look at all its keys.
  server.command({"HSET", "job", "mode", "write", "a:1:write", "1", "a:1", "1"});
  CHECK(lock::take_snapshot(client, "job").dead_readers.empty());
  server.command({"DEL", "job"});
  server.command({"HSET", "job", "mode", "read", "a:1", "x", "b:2", "101", "c:3", "-1", "d:4",
                  "99999999999999999999"});
  CHECK(lock::take_snapshot(client, "job").dead_readers.empty());
}

TEST_CASE("snapshot: an application's hash with a field mode is no read/write lock") {
  test::Server server;
  redis::Client client = client_of(server);
  const std::vector<std::vector<std::string>> makers = {
      {"HSET", "job", "mode", "read", "path", "/srv/data", "retries", "5"},
      {"HSET", "job", "mode", "write", "path", "/srv/data"},
      {"HSET", "job", "mode", "read"},
      {"HSET", "job", "mode", "read", "a:1", "text"},
      {"HSET", "job", "mode", "fast", "a:1", "1"}};
  for (const auto& maker : makers) {
    CAPTURE(maker.back());
    server.command({"DEL", "job"});
    server.command(maker);
    const Snapshot snapshot = lock::take_snapshot(client, "job");
    CHECK(!snapshot.kind);
    CHECK(snapshot.is_unknown);
    CHECK(codes_of(snapshot) == Codes{"wrong_kind"});
    CHECK(snapshot.holders.empty());
  }
  // What the side key tells of is a holder.
  server.command({"HSET", "job", "a:1", "1", "name", "ann"});
  server.command({"HSET", "rlock_info:{job}", "a:1", R"({"host":"web1"})"});
  const Snapshot snapshot = lock::take_snapshot(client, "job");
  CHECK(snapshot.is_unknown);
  REQUIRE(snapshot.holders.size() == 1);
  CHECK(snapshot.holders[0].owner == "a:1");
}

TEST_CASE("snapshot: mixed kinds") {
  test::Server server;
  redis::Client client = client_of(server);
  const auto codes = [&] { return codes_of(lock::take_snapshot(client, "job")); };
  // While one writes, he can read, in a transaction too; another cannot.
  server.command({"HSET", "job", "mode", "write", "a:1:write", "1", "a:1", "1", "a:1:tx", "1"});
  server.command({"PEXPIRE", "job", "60000"});
  CHECK(codes().empty());
  server.command({"HSET", "job", "a:12", "1"});
  CHECK(codes() == Codes{"mixed_kinds"});

  server.command({"DEL", "job"});
  server.command({"HSET", "job", "a:1", "1"});
  server.command({"PEXPIRE", "job", "60000"});
  server.command({"RPUSH", "redisson_lock_queue:{job}", "w:1"});
  server.command({"ZADD", "redisson_lock_timeout:{job}", "5", "w:1"});
  server.command({"HSET", "rlock_info:{job}", "w:1", "{\"due\":9e15}"});
  CHECK(codes().empty());
  server.command({"HSET", "rlock_info:{job}", "a:1", "{\"kind\":\"fair\"}"});
  CHECK(codes().empty());
  server.command({"HSET", "rlock_info:{job}", "a:1", "{\"kind\":\"reentrant\"}"});
  CHECK(codes() == Codes{"mixed_kinds"});
  server.command({"HSET", "job", "mode", "read"});
  CHECK(codes().at(0) == "mixed_kinds");
}

TEST_CASE("snapshot: what is wrong with the counter of fencing tokens") {
  test::Server server;
  redis::Client client = client_of(server);
  const std::string counter = "redisson_lock_token:{job}";
  const auto problems = [&] { return lock::take_snapshot(client, "job").problems; };
  const auto codes = [&] { return codes_of(lock::take_snapshot(client, "job")); };
  server.command({"HSET", "job", "a:1", "1"});
  server.command({"PEXPIRE", "job", "60000"});
  server.command({"HSET", "rlock_info:{job}", "a:1", R"({"token":"9007199254740993"})"});
  CHECK(codes() == Codes{"token_behind"});
  for (const char* value : {"9007199254740993", "9007199254740994"}) {
    server.command({"SET", counter, value});
    CHECK(codes().empty());
  }
  server.command({"SET", counter, "9007199254740992", "EX", "100"});
  CHECK(codes() == Codes{"token_expires", "token_behind"});
  CHECK(std::get<lock::TokenExpires>(problems()[0]).key == counter);
  CHECK(std::get<lock::TokenBehind>(problems()[1]).token == 9007199254740993);
  for (const char* value : {"", "x", "1.5", "9223372036854775808"}) {
    server.command({"SET", counter, value});
    CHECK(codes() == Codes{"bad_token"});
  }
  server.command({"SET", counter, "9000000000000000000"});
  CHECK(codes().empty());
  server.command({"SET", counter, "9000000000000000001"});
  CHECK(codes() == Codes{"token_too_high"});
  server.command({"DEL", counter});
  server.command({"RPUSH", counter, "7"});
  CHECK(codes() == Codes{"wrong_kind"});
}

TEST_CASE(
    "snapshot: a waiter for whom somebody listens lives; without a listener it may be elsewhere") {
  test::Server server;
  redis::Client client = client_of(server);
  test::hold_by_other(server);
  test::Peer peer(server, "r:1");
  CHECK_FALSE(peer.acquire());
  const auto alive = [&] { return lock::take_snapshot(client, "job").waiters.at(0).alive; };
  CHECK(alive() == false);
  SUBCASE("on this server") {
    peer.listen();
    CHECK(alive() == true);
  }
  SUBCASE("on a replica, perhaps") {
    test::Server replica({.args = {"--replicaof", "127.0.0.1 " + std::to_string(server.port())}});
    REQUIRE(test::wait_until([&] {
      return has(server.command({"INFO", "replication"}), "connected_slaves:1");
    }));
    CHECK_FALSE(alive().has_value());
    peer.listen();
    CHECK(alive() == true);
  }
}

TEST_CASE("snapshot: in a cluster, a waiter for whom somebody listens in its shard lives, too") {
  test::Server server({.args = {"--cluster-enabled", "yes"}});
  REQUIRE(server.command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}) == "OK");
  REQUIRE(test::wait_until([&] { return server.command({"SET", "other", "x"}) == "OK"; }));
  redis::Client client = client_of(server);
  test::hold_by_other(server);
  test::Peer peer(server, "r:1");
  CHECK_FALSE(peer.acquire());
  const auto alive = [&] { return lock::take_snapshot(client, "job").waiters.at(0).alive; };
  CHECK_FALSE(alive().has_value());
  test::RespClient listener = server.connect();
  listener.call({"SSUBSCRIBE", lock::KeyNames("job").waiter_channel("r:1")});
  CHECK(alive() == true);
}
