// repair.lua: only what is provably garbage goes.
#include "lock/inspection/repair.hpp"

#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "lock/inspection/leftovers.hpp"
#include "lock/inspection/snapshot.hpp"
#include "lock/words/key_names.hpp"
#include "lua_scripts.hpp"
#include "redis/fair_fixture.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock;
using lock::Fix;
using lock::Repair;
using test::FairFixture;
using test::has;
using test::k_channel;
using test::k_info;
using test::k_queue;
using test::k_scores;
using test::Peer;
using test::queue;
using test::RespClient;
using test::Words;

namespace {

const std::string k_latch = "redisson_unlock_latch:{job}:0123456789abcdef";

// "count x code of first" of each.
Words fixes(redis::Client& client, Repair mode, const Words& leftovers = {}) {
  Words words;
  const lock::Snapshot snapshot = lock::take_snapshot(client, "job");
  for (const Fix& fix : lock::repair(client, snapshot, leftovers, mode)) {
    words.push_back(std::to_string(fix.found.count) + " x " + fix.code + " of " + fix.found.first);
  }
  return words;
}

std::string dump(const test::Server& server) {
  std::string all;
  for (const std::string& key : server.keys()) {
    all +=
        key + server.command({"DUMP", key}) + (server.command({"PTTL", key}) == "-1" ? "-" : "+");
  }
  return all;
}

// The deadline of a waiter is so far ahead, or has passed so long ago (ms).
void set_deadline(const test::Server& server, const std::string& owner, long long ahead) {
  server.command({"ZADD", k_scores, std::to_string(test::server_time(server) + ahead), owner});
}

// One of rlock's waiters was to show its life so long ago (ms).
void set_overdue(const test::Server& server, const std::string& owner, long long by) {
  server.command({"EVAL",
                  "local about = cjson.decode(redis.call('hget', KEYS[1], ARGV[1])) "
                  "about.due = tonumber(ARGV[2]) "
                  "return redis.call('hset', KEYS[1], ARGV[1], cjson.encode(about))",
                  "1", k_info, owner, std::to_string(test::server_time(server) - by)});
}

}  // namespace

TEST_CASE("repair: a healthy queue is left as it is, held or free") {
  FairFixture f;
  f.hold_by_other();
  f.line_up({"r:1", "r:2"});
  Peer java(f.server, "j:1");
  CHECK_FALSE(java.acquire());
  SUBCASE("held") {}
  SUBCASE("free") { f.expire(); }
  SUBCASE("overdue, as after an outage of the server") { set_overdue(f.server, "r:1", 50'000); }
  const std::string before = dump(f.server);
  CHECK(fixes(f.client, Repair::look).empty());
  CHECK(fixes(f.client, Repair::repair).empty());
  CHECK(dump(f.server) == before);
}

TEST_CASE("repair: a free lock that was never there") {
  FairFixture f;
  CHECK(fixes(f.client, Repair::repair).empty());
  CHECK(f.server.keys().empty());
}

TEST_CASE("repair: the dead go, wherever they are, and the living stay in order") {
  FairFixture f;
  f.hold_by_other();
  f.line_up({"r:dead"});
  Peer dead(f.server, "j:dead");
  Peer live(f.server, "j:live");
  Peer listens(f.server, "j:listens");
  for (Peer* peer : {&dead, &live, &listens}) CHECK_FALSE(peer->acquire());
  f.line_up({"r:live", "r:gone"});
  f.server.command({"RPUSH", k_queue, "scoreless:1"});
  set_overdue(f.server, "r:dead", 61'000);
  set_overdue(f.server, "r:gone", 61'000);
  set_deadline(f.server, "j:dead", -1);
  set_deadline(f.server, "j:listens", -1);
  listens.listen();
  const Words expected = {"3 x dead_waiter of r:dead", "1 x member_without_score of scoreless:1"};
  const std::string before = dump(f.server);
  CHECK(fixes(f.client, Repair::look) == expected);
  CHECK(dump(f.server) == before);
  CHECK(fixes(f.client, Repair::repair) == expected);
  CHECK(queue(f.server) == Words{"j:live", "j:listens", "r:live"});
  CHECK(f.server.command({"ZCARD", k_scores}) == "3");
  CHECK(f.server.command({"HEXISTS", k_info, "r:dead"}) == "0");
  CHECK(f.server.command({"HEXISTS", k_info, "r:live"}) == "1");
  CHECK(f.server.command({"EXISTS", "job"}) == "1");
  CHECK(fixes(f.client, Repair::repair).empty());
}

TEST_CASE("repair: whoever listens lives, however late, and also without a deadline") {
  FairFixture f;
  f.hold_by_other();
  Peer ours(f.server, "r:1");
  f.line_up({"r:1"});
  set_overdue(f.server, "r:1", 600'000);
  ours.listen();
  Peer java(f.server, "j:1");
  CHECK_FALSE(java.acquire());
  f.server.command({"ZREM", k_scores, "j:1"});
  java.listen();
  CHECK(fixes(f.client, Repair::repair).empty());
  CHECK(queue(f.server) == Words{"r:1", "j:1"});
}

TEST_CASE("repair: scores without a place go, and nothing of an empty queue is left") {
  FairFixture f;
  set_deadline(f.server, "x:1", 300'000);
  set_deadline(f.server, "x:2", -300'000);
  CHECK(fixes(f.client, Repair::repair) == Words{"2 x score_without_member of x:2"});
  CHECK(f.server.keys().empty());
}

TEST_CASE("repair: whoever is first after that is called, if the lock is free") {
  FairFixture f;
  f.hold_by_other();
  Peer java(f.server, "j:1");
  f.server.command({"RPUSH", k_queue, "scoreless:1"});
  CHECK_FALSE(java.acquire());
  java.listen();
  SUBCASE("free") {
    f.expire();
    CHECK(fixes(f.client, Repair::repair).size() == 1);
    CHECK(java.messages() == 1);
  }
  SUBCASE("held") {
    CHECK(fixes(f.client, Repair::repair).size() == 1);
    CHECK(java.messages() == 0);
  }
  SUBCASE("only looked at") {
    f.expire();
    CHECK(fixes(f.client, Repair::look).size() == 1);
    CHECK(java.messages() == 0);
  }
}

TEST_CASE("repair: where others may listen on a replica, a waiter has five minutes more") {
  FairFixture f;
  test::Server replica({.args = {"--replicaof", "127.0.0.1 " + std::to_string(f.server.port())}});
  REQUIRE(test::wait_until([&] {
    return has(f.server.command({"INFO", "replication"}), "connected_slaves:1");
  }));
  f.hold_by_other();
  Peer java(f.server, "j:1");
  CHECK_FALSE(java.acquire());
  set_deadline(f.server, "j:1", -1);
  CHECK(fixes(f.client, Repair::repair).empty());
  set_deadline(f.server, "j:1", -300'001);
  CHECK(fixes(f.client, Repair::repair) == Words{"1 x dead_waiter of j:1"});
}

TEST_CASE("repair: keys that only remember something get an expiry, if they still have none") {
  FairFixture f;
  f.server.command({"SET", k_latch, "1"});
  f.server.command({"HSET", k_info, "u:1", "{}"});
  const Words expected = {"1 x lasting_info of " + k_info, "1 x leaked_latch of " + k_latch};
  CHECK(fixes(f.client, Repair::look, {k_info, k_latch}) == expected);
  CHECK(f.server.command({"PTTL", k_latch}) == "-1");
  CHECK(fixes(f.client, Repair::repair, {k_info, k_latch}) == expected);
  for (const std::string& key : {k_info, k_latch}) {
    const long left = pttl(f.server, key);
    CHECK(left > 0);
    CHECK(left <= 60'000);
  }
  f.server.command({"PEXPIRE", k_latch, "20000"});
  CHECK(fixes(f.client, Repair::repair, {k_info, k_latch}).empty());
  CHECK(pttl(f.server, k_latch) <= 20'000);
}

TEST_CASE("repair: 9000 leaked latches get an expiry, and what is found again counts once") {
  constexpr int k_latches = 9000;
  FairFixture f;
  f.server.command({"EVAL",
                    "for i = 1, tonumber(ARGV[1]) do redis.call('set', KEYS[1] .. i, '1') end", "1",
                    k_latch, std::to_string(k_latches)});
  f.server.command({"HSET", k_info, "u:1", "{}"});
  set_deadline(f.server, "x:1", 300'000);
  const lock::Leftovers found = lock::find_leftovers(f.client, "job");
  REQUIRE(found.size() == 1);
  const Words& leftovers = found.at("job");
  REQUIRE(leftovers.size() == k_latches + 1);
  const Words expected = {"1 x score_without_member of x:1", "1 x lasting_info of " + k_info,
                          "9000 x leaked_latch of " + lock::latches_of(leftovers)[0]};
  CHECK(fixes(f.client, Repair::look, leftovers) == expected);
  CHECK(fixes(f.client, Repair::repair, leftovers) == expected);
  CHECK(fixes(f.client, Repair::repair, leftovers).empty());
  CHECK(lock::find_leftovers(f.client, "job").empty());
}

TEST_CASE("repair: a lock whose name starts as that of a latch is no latch") {
  FairFixture f;
  f.server.command({"HSET", k_latch, "u:1", "1"});
  CHECK(fixes(f.client, Repair::repair, {k_latch}).empty());
  CHECK(f.server.command({"PTTL", k_latch}) == "-1");
}

TEST_CASE("repair: the lock itself is never touched, nor keys that are something else") {
  FairFixture f;
  f.server.command({"HSET", "job", "u:1", "1"});
  SUBCASE("a lock without an expiry") {}
  SUBCASE("a string in place of the queue") { f.server.command({"SET", k_queue, "x"}); }
  SUBCASE("a list in place of the deadlines") {
    f.server.command({"RPUSH", k_queue, "a"});
    f.server.command({"RPUSH", k_scores, "x"});
  }
  SUBCASE("a set in place of the side key") {
    f.server.command({"SADD", k_info, "x"});
    f.server.command({"PEXPIRE", k_info, "600000"});
  }
  const std::string before = dump(f.server);
  CHECK(fixes(f.client, Repair::repair).empty());
  CHECK(dump(f.server) == before);
}

TEST_CASE("repair: a queue of 50,000 dead is swept, also between the living, in many small steps") {
  FairFixture f;
  f.hold_by_other();
  f.server.command({"EVAL",
                    "for i = 1, 50000 do redis.call('rpush', KEYS[1], 'd:' .. i) "
                    "redis.call('zadd', KEYS[2], 1000 + i, 'd:' .. i) end "
                    "redis.call('rpush', KEYS[1], 'j:1') redis.call('zadd', KEYS[2], 9e12, 'j:1') "
                    "for i = 1, 1500 do redis.call('rpush', KEYS[1], 'n:' .. i) end "
                    "for i = 1, 250 do redis.call('zadd', KEYS[2], i, 'x:' .. i) end",
                    "2", k_queue, k_scores});
  redis::ClientOptions options = f.client.options();
  options.reply_limit = redis::k_large_reply;
  redis::Client client(options);
  const Words expected = {"50000 x dead_waiter of d:1", "1500 x member_without_score of n:1",
                          "250 x score_without_member of x:1"};
  CHECK(fixes(client, Repair::look) == expected);
  CHECK(f.server.command({"LLEN", k_queue}) == "51501");
  const long before = test::script_calls(f.server);
  CHECK(fixes(client, Repair::repair) == expected);
  CHECK(test::script_calls(f.server) - before > 1000);
  CHECK(queue(f.server) == Words{"j:1"});
  CHECK(f.server.command({"ZCARD", k_scores}) == "1");
}

TEST_CASE("repair: one request removes few of the waiters in the middle of a long queue") {
  FairFixture f;
  f.hold_by_other();
  f.server.command({"EVAL",
                    "for i = 1, 40000 do redis.call('rpush', KEYS[1], 'j:' .. i) "
                    "redis.call('zadd', KEYS[2], i % 2 == 0 and 9e12 or 1, 'j:' .. i) end",
                    "2", k_queue, k_scores});
  const lock::KeyNames keys("job");
  const auto reply = f.client.run(lua::repair_queue::Call{.lock = keys.lock,
                                                          .channel = keys.channel,
                                                          .info = keys.info,
                                                          .queue = keys.queue,
                                                          .scores = keys.scores,
                                                          .task = "repair",
                                                          .from = 20'000});
  const auto answer = lua::repair_queue::read(reply);
  CHECK(f.server.command({"LLEN", k_queue}) == "39999");
  CHECK(std::get<lua::repair_queue::Looked>(answer).next == 20'001);
}

TEST_CASE("repair: the head is called once, when all dead before it have gone") {
  FairFixture f;
  f.hold_by_other();
  f.server.command({"EVAL",
                    "for i = 1, 120 do redis.call('rpush', KEYS[1], 'd:' .. i) "
                    "redis.call('zadd', KEYS[2], i, 'd:' .. i) end",
                    "2", k_queue, k_scores});
  Peer java(f.server, "j:1");
  f.server.command({"RPUSH", k_queue, "j:1"});
  set_deadline(f.server, "j:1", 300'000);
  java.listen();
  f.expire();
  CHECK(fixes(f.client, Repair::repair) == Words{"120 x dead_waiter of d:1"});
  CHECK(queue(f.server) == Words{"j:1"});
  CHECK(java.messages() == 1);
}
