// find_locks.lua, and the search that it is a step of.
#include "lock/inspection/lock_scan.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/glob.hpp"
#include "lock/inspection/snapshot.hpp"
#include "lock_fixture.hpp"
#include "redis/server_error.hpp"
#include "support/foreign_owner.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock;
using lock::LockPatterns;
using lock::LockScan;
using test::client_of;
using test::has;
using test::k_foreign_client;
using test::k_foreign_owner;
using test::Server;
using test::Words;

namespace {

// All names that a search brings, sorted.
Words find(const Server& server, const LockPatterns& patterns = {}) {
  redis::Client client = client_of(server);
  LockScan scan(client, patterns);
  Words names;
  while (!scan.is_done()) {
    for (const std::string& name : scan.next()) names.push_back(name);
  }
  CHECK(scan.unread() == 0);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::optional<lock::Snapshot>> snapshots_of(redis::Client& client, const Words& names) {
  std::vector<std::optional<lock::Snapshot>> snapshots;
  lock::take_snapshots(client, names, [&](const auto& snapshot) { snapshots.push_back(snapshot); });
  return snapshots;
}

// `count` keys that no lock has anything to do with.
void fill(const Server& server, int count) {
  REQUIRE(server.command({"EVAL",
                          "for i = 1, tonumber(ARGV[1]) do redis.call('set', 'key:' .. i, 'x') end",
                          "0", std::to_string(count)}) == "(nil)");
}

}  // namespace

TEST_CASE("find_locks: a hash of more than 10,000 fields is no lock") {
  Server server;
  server.command({"EVAL",
                  "for i = 1, 10000 do redis.call('hset', KEYS[1], ARGV[1] .. ':' .. i, 1) end",
                  "1", "big", k_foreign_client});
  CHECK(find(server) == Words{"big"});
  server.command({"HSET", "big", k_foreign_client + ":10001", "1"});
  redis::Client client = client_of(server);
  LockScan scan(client, {});
  while (!scan.is_done()) CHECK(scan.next().empty());
}

TEST_CASE("find_locks: hashes with owners and counts are locks") {
  Server server;
  server.command({"HSET", "plain", k_foreign_owner, "1"});
  server.command(
      {"HSET", "reader", "mode", "read", k_foreign_owner, "1", k_foreign_client + ":7", "2"});
  server.command({"HSET", "writer", "mode", "write", k_foreign_owner + ":write", "1"});
  server.command({"HSET", "transaction", k_foreign_owner + ":0a1b", "1"});
  server.command({"HSET", "async", k_foreign_client + ":-9223372036854775808", "1"});
  server.command({"HSET", "UPPER", "8F0DD3A5-6F4A-4A53-9F0E-2D51C4A1B0A7:1", "1"});
  CHECK(find(server) == Words{"UPPER", "async", "plain", "reader", "transaction", "writer"});
  CHECK(find(server, {"*a*", ""}) == Words{"async", "plain", "reader", "transaction"});
}

TEST_CASE("find_locks: everything else is no lock") {
  Server server;
  server.command({"HSET", "other", "a", "1"});
  server.command({"HSET", "mixed", k_foreign_owner, "1", "garbage", "1"});
  server.command({"HSET", "no thread", k_foreign_client, "1", k_foreign_client + ":", "1"});
  server.command({"HSET", "text", k_foreign_owner, "one"});
  server.command({"HSET", "negative", k_foreign_owner, "-1"});
  server.command({"HSET", "long number", k_foreign_owner, "12345678901"});
  server.command({"HSET", "mode", "mode", "dark"});
  server.command({"HSET", "short uuid", k_foreign_client.substr(1) + ":1", "1"});
  server.command({"SET", "string", "1"});
  server.command({"RPUSH", "list", k_foreign_owner});
  server.command({"ZADD", "zset", "1", k_foreign_owner});
  server.command({"SADD", "set", k_foreign_owner});
  server.command({"ZADD", "zset:timeout", "1", k_foreign_owner});
  server.command(
      {"ZADD", "{set}:timeout", "1", k_foreign_owner});  // a semaphore's permits, were it a string
  server.command({"HSET", "", k_foreign_owner, "1"});
  server.command({"HSET", std::string(1025, 'x'), k_foreign_owner, "1"});
  server.command({"SET", "redisson_unlock_latch:{plain}:1", "1"});
  server.command({"SET", "redisson_lock_token:{plain}", "1"});
  server.command(
      {"RPUSH", "redisson_lock_queue:plain", k_foreign_owner});  // by no rule is this a queue
  CHECK(find(server).empty());
}

TEST_CASE("find_locks: neither a huge hash nor a huge value is read") {
  Server server;
  server.command({"EVAL",
                  "for i = 1, 20000 do redis.call('hset', 'huge', ARGV[1] .. i, 1) end "
                  "for i = 1, 10000 do redis.call('hset', 'large', ARGV[1] .. i, 1) end "
                  "redis.call('hset', 'blob', ARGV[1], ('x'):rep(5000000))",
                  "0", k_foreign_owner});
  server.command({"CONFIG", "RESETSTAT"});
  CHECK(find(server) == Words{"large"});
  const std::string stats = server.command({"INFO", "commandstats"});
  CHECK_FALSE(has(stats, "cmdstat_hgetall"));
  CHECK(has(stats, "cmdstat_hstrlen"));
}

TEST_CASE("find_locks: what lies beside a lock gives it away, whatever its hash holds") {
  Server server;
  server.command({"HSET", "odd", "garbage", "x"});
  server.command({"RPUSH", "redisson_lock_queue:{odd}", "w:1"});
  server.command({"HSET", "told", "me", "1"});
  server.command({"HSET", "rlock_info:{told}", "me", "{}"});
  server.command({"RPUSH", "redisson_lock_queue:{free}", "w:1"});
  server.command({"ZADD", "redisson_lock_timeout:{orphan}", "1", "w:1"});
  server.command({"SET", "text", std::string(1024, 'x')});
  server.command({"HSET", "rlock_info:{text}", "me", "{}"});
  CHECK(find(server) == Words{"free", "odd", "orphan", "text", "told"});
  CHECK(find(server, {"o*", ""}) == Words{"odd", "orphan"});
}

TEST_CASE("find_locks: a lock with all its keys comes once") {
  Server server;
  server.command({"HSET", "job", k_foreign_owner, "1"});
  server.command({"HSET", "rlock_info:{job}", k_foreign_owner, "{}"});
  server.command({"RPUSH", "redisson_lock_queue:{job}", "w:1"});
  server.command({"ZADD", "redisson_lock_timeout:{job}", "1", "w:1"});
  CHECK(find(server) == Words{"job"});
}

TEST_CASE("find_locks: a queue belongs to the lock that Redisson's rule names") {
  Server server;
  server.command({"RPUSH", "redisson_lock_queue:a{b}c", "w:1"});
  server.command({"RPUSH", "redisson_lock_queue:{a}{b}", "w:1"});
  server.command({"RPUSH", "redisson_lock_queue:a{b", "w:1"});
  server.command({"RPUSH", "redisson_lock_queue:{free}", "w:1"});
  server.command({"RPUSH", "redisson_lock_queue:{}", "w:1"});
  server.command({"RPUSH", "redisson_lock_queue:{x}y}", "w:1"});
  server.command({"RPUSH", "redisson_lock_queue:{braces}", "w:1"});
  server.command({"HSET", "{braces}", k_foreign_owner, "1"});
  server.command({"RPUSH", "redisson_lock_queue:{both}", "w:1"});
  server.command({"HSET", "{both}", k_foreign_owner, "1"});
  server.command({"HSET", "both", k_foreign_owner, "1"});
  CHECK(find(server) ==
        Words{"a{b", "a{b}c", "both", "free", "x}y", "{a}{b}", "{both}", "{braces}", "{}"});
  CHECK(find(server, {"{*", ""}) == Words{"{a}{b}", "{both}", "{braces}", "{}"});
  CHECK(find(server, {"[bf]*", ""}) == Words{"both", "free"});
}

TEST_CASE("find_locks: strings are locks where a pattern says so") {
  Server server;
  server.command({"SET", "lock:a", "token"});
  server.command({"SET", "lock:b", std::string(1024, 'x')});
  server.command({"HSET", "lock:hash", k_foreign_owner, "1"});
  server.command({"SET", "redisson_unlock_latch:{lock:hash}:1", "1"});
  server.command({"SET", "redisson_lock_token:{lock:hash}", "1"});
  server.command({"SET", "{lock:hash}:" + k_foreign_owner + ":rwlock_timeout:1", "1"});
  CHECK(find(server) == Words{"lock:hash"});
  CHECK(find(server, {"nothing", "lock:*"}) == Words{"lock:a", "lock:b"});
  CHECK(find(server, {"*", "*"}) == Words{"lock:a", "lock:b", "lock:hash"});

  server.command({"SET", "lock:c", std::string(1025, 'x')});
  redis::Client client = client_of(server);
  LockScan scan(client, {"nothing", "lock:*"});
  Words names = scan.next();
  std::sort(names.begin(), names.end());
  CHECK(names == Words{"lock:a", "lock:b"});
  CHECK(scan.unread() == 1);
}

TEST_CASE(
    "find_locks: a service's semaphore is found by its permits, also while strings are looked at") {
  Server server;
  server.command({"SET", "pool", "3"});
  server.command({"ZADD", "{pool}:timeout", "9e12", "0123456789abcdef"});
  server.command({"SET", "text", "x"});
  server.command({"ZADD", "{none}:timeout", "9e12", "0123456789abcdef"});
  CHECK(find(server) == Words{"pool"});
  CHECK(find(server, {"*", "lock:*"}) == Words{"pool"});
}

TEST_CASE("find_locks: many keys are walked through step by step, and each lock found") {
  Server server;
  fill(server, 20'000);
  Words locks;
  for (int i = 100; i < 400; ++i) {
    locks.push_back("job" + std::to_string(i));
    server.command({"HSET", locks.back(), k_foreign_owner, "1"});
  }
  CHECK(find(server) == locks);

  redis::Client client = client_of(server);
  LockScan scan(client, {});
  int steps = 0;
  for (; !scan.is_done(); ++steps) {
    CHECK(scan.next().size() < 300);
    CHECK(scan.total() == 20'300);
    CHECK(scan.looked_at() <= 20'300);
  }
  CHECK(steps >= 20);
  CHECK(scan.looked_at() > 10'000);
  CHECK(server.command({"DBSIZE"}) == "20300");
}

TEST_CASE("find_locks: locks that come and go meanwhile disturb nothing") {
  Server server;
  fill(server, 5'000);
  server.command({"HSET", "stays", k_foreign_owner, "1"});
  redis::Client client = client_of(server);
  LockScan scan(client, {});
  std::set<std::string> found;
  for (int i = 0; !scan.is_done(); ++i) {
    server.command({"HSET", "comes" + std::to_string(i), k_foreign_owner, "1"});
    server.command({"DEL", "comes" + std::to_string(i - 1)});
    fill(server, i < 3 ? 30'000 : 1);  // the server's table grows under the search
    for (const std::string& name : scan.next()) CHECK(found.insert(name).second);
  }
  CHECK(found.contains("stays"));
}

TEST_CASE("find_locks: a server that was restarted between two steps is one that went away") {
  Server server;
  fill(server, 5'000);
  redis::Client client = client_of(server);
  LockScan scan(client, {});
  REQUIRE(scan.next().empty());
  REQUIRE_FALSE(scan.is_done());
  client.disconnect();  // a new connection alone is no reason
  REQUIRE(scan.next().empty());
  REQUIRE_FALSE(scan.is_done());
  server.stop();
  server.start();
  CHECK_THROWS_AS((void)scan.next(), redis::Unavailable);
}

TEST_CASE("find_locks: a user who may not ask for size and run finds the locks, too") {
  Server server;
  server.command({"HSET", "job", k_foreign_owner, "1"});
  server.command({"ACL", "SETUSER", "default", "-dbsize", "-info"});
  redis::Client client = client_of(server);
  LockScan scan(client, {});
  CHECK(scan.next() == Words{"job"});
  CHECK(scan.is_done());
  CHECK_FALSE(scan.total());
  CHECK(scan.looked_at() > 0);
}

TEST_CASE("find_locks: keys that the user may not read are counted and left out") {
  Server server;
  for (const char* name : {"app:a", "app:b", "secret"})
    server.command({"HSET", name, k_foreign_owner, "1"});
  server.command({"SET", "password", "x"});
  server.command({"RPUSH", "redisson_lock_queue:{app:free}", "w:1"});
  server.command({"ACL", "SETUSER", "default", "resetkeys", "~app:*", "~*:{app:*"});
  redis::Client client = client_of(server);
  LockScan scan(client, {"*", "pass*"});
  Words names = scan.next();
  std::sort(names.begin(), names.end());
  CHECK(names == Words{"app:a", "app:b", "app:free"});
  CHECK(scan.unread() == 2);
  names.insert(names.begin() + 1, "secret");
  const auto snapshots = snapshots_of(client, names);
  REQUIRE(snapshots.size() == 4);
  CHECK(snapshots[0].value().name == "app:a");
  CHECK_FALSE(snapshots[1]);
  CHECK(snapshots[2].value().held);
  CHECK_FALSE(snapshots[3].value().held);
  CHECK(snapshots[3].value().waiters.size() == 1);
}

TEST_CASE("find_locks: a user who may not search at all is told so") {
  Server server;
  server.command({"ACL", "SETUSER", "default", "-scan"});
  redis::Client client = client_of(server);
  LockScan scan(client, {});
  try {
    (void)scan.next();
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.status() == ExitStatus::permission);
  }
}

TEST_CASE("take_snapshots gives the snapshot of each name, in their order") {
  Server server;
  server.command({"HSET", "a", k_foreign_owner, "1"});
  redis::Client client = client_of(server);
  const auto snapshots = snapshots_of(client, {"b", "a"});
  REQUIRE(snapshots.size() == 2);
  CHECK(snapshots[0].value().name == "b");
  CHECK_FALSE(snapshots[0].value().held);
  CHECK(snapshots[1].value().name == "a");
  CHECK(snapshots[1].value().held);
  CHECK(snapshots_of(client, {}).empty());
  CHECK(snapshots_of(client, Words(101, "a")).size() == 101);  // in several round trips
}

TEST_CASE("globs match as the server matches them") {
  Server server;
  std::mt19937 random(20261121);
  const auto text = [&](std::string_view alphabet, std::size_t most) {
    std::string result;
    for (std::size_t length = 1 + random() % most; result.size() < length;) {
      result += alphabet[random() % alphabet.size()];
    }
    return result;
  };
  std::set<std::string> names;
  while (names.size() < 200) names.insert(text("abc-]^[\\*?", 4));
  for (const std::string& name : names) server.command({"SET", name, "x"});
  for (int i = 0; i < 2000; ++i) {
    const std::string pattern = text("ab-]^[\\*?", 7);
    CAPTURE(pattern);
    const Words found = server.list({"KEYS", pattern});
    Words expected;
    for (const std::string& name : names) {
      if (matches_glob(pattern, name)) expected.push_back(name);
    }
    CHECK(std::set<std::string>(found.begin(), found.end()) ==
          std::set<std::string>(expected.begin(), expected.end()));
  }
}
