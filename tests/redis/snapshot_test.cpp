// snapshot.lua and what is made of it
#include "lock/snapshot.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "redis/client.hpp"
#include "redis/url.hpp"
#include "support/server.hpp"

using namespace rlock;
using lock::Snapshot;

namespace {

redis::Client client_of(const test::Server& server) {
  redis::ClientOptions options;
  options.endpoint = redis::parse_url(server.unix_url());
  options.reply_limit = redis::k_large_reply;
  return redis::Client(options);
}

}  // namespace

TEST_CASE("snapshot: a free lock") {
  test::Server server;
  redis::Client client = client_of(server);
  const Snapshot snapshot = lock::take_snapshot(client, "job");
  CHECK_FALSE(snapshot.held);
  CHECK(snapshot.kind == Snapshot::Kind::none);
  CHECK_FALSE(snapshot.ttl_ms);
  CHECK(snapshot.time_ms > 1'600'000'000'000);
  CHECK(snapshot.problems.empty());
  CHECK(server.keys().empty());
}

TEST_CASE("snapshot: holder, queue and scores are as they stand there") {
  test::Server server;
  redis::Client client = client_of(server);
  const std::string odd("a\0b\xff", 4);
  server.command({"HSET", "job", odd, "2"});
  server.command({"RPUSH", "redisson_lock_queue:{job}", "w:2", "w:1"});
  server.command({"ZADD", "redisson_lock_timeout:{job}", "5", "w:1", "-inf", "ghost"});
  server.command({"SET", "redisson_lock_token:{job}", "9"});
  const Snapshot snapshot = lock::take_snapshot(client, "job");
  CHECK(snapshot.held);
  CHECK(snapshot.kind == Snapshot::Kind::fair);
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
  CHECK(snapshot.problems[0].code == "no_expiry");
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
    CHECK(snapshot.kind == (text ? Snapshot::Kind::simple : Snapshot::Kind::unknown));
  }
}
