#include "lock/inspection/server_health.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rlock;
using lock::Finding;
using lock::Level;
using lock::ServerFacts;

namespace {

ServerFacts healthy() {
  ServerFacts facts;
  facts.info = {{"redis_version", "7.0.15"},
                {"role", "master"},
                {"maxmemory", "0"},
                {"maxmemory_policy", "noeviction"},
                {"used_memory", "1000"},
                {"evicted_keys", "0"},
                {"aof_enabled", "1"},
                {"aof_last_write_status", "ok"},
                {"uptime_in_seconds", "86400"},
                {"cluster_enabled", "0"},
                {"connected_slaves", "0"}};
  facts.clock_difference = Milliseconds(3);
  return facts;
}

// "code" of each problem, "(code)" of each note, in order.
std::string codes(const ServerFacts& facts) {
  std::string text;
  for (const Finding& finding : lock::find_server_problems(facts)) {
    const std::string code = lock::code_of(finding.problem);
    text += (text.empty() ? "" : " ") + (finding.level == Level::note ? "(" + code + ")" : code);
  }
  return text;
}

std::string codes_with(const std::string& key, const std::string& value) {
  ServerFacts facts = healthy();
  facts.info[key] = value;
  return codes(facts);
}

using Use = lock::LacksRights::Use;

std::string codes_with(const std::map<Use, std::vector<std::string>>& lacking) {
  ServerFacts facts = healthy();
  facts.lacking = lacking;
  return codes(facts);
}

}  // namespace

TEST_CASE("of a healthy server there is nothing to be said") { CHECK(codes(healthy()).empty()); }

TEST_CASE("a server that may evict locks is a problem, with a limit; else a note") {
  ServerFacts facts = healthy();
  for (const char* policy : {"allkeys-lru", "volatile-lru", "volatile-ttl", "allkeys-random"}) {
    facts.info["maxmemory_policy"] = policy;
    facts.info["maxmemory"] = "0";
    CHECK(codes(facts) == "(eviction)");
    facts.info["maxmemory"] = "100000000";
    CHECK(codes(facts) == "eviction");
  }
  facts.info["evicted_keys"] = "17";
  const auto found = lock::find_server_problems(facts);
  CHECK(std::get<lock::Evicts>(found[0].problem).evicted == 17);
}

TEST_CASE("a server without room grants no locks") {
  ServerFacts facts = healthy();
  facts.info["maxmemory"] = "1001";
  CHECK(codes(facts).empty());
  facts.info["maxmemory"] = "1000";
  CHECK(codes(facts) == "out_of_memory");
}

TEST_CASE("persistence: none is a note, one that fails a problem") {
  CHECK(codes_with("aof_enabled", "0") == "(no_persistence)");
  CHECK(codes_with("aof_last_write_status", "err") == "persistence_fails");
  CHECK(codes_with("rdb_last_bgsave_status", "err") == "persistence_fails");
}

TEST_CASE("a server that has just started may have forgotten locks") {
  CHECK(codes_with("uptime_in_seconds", "59") == "(fresh_restart)");
  CHECK(codes_with("uptime_in_seconds", "60").empty());
}

TEST_CASE("a replica, and a master with replicas") {
  CHECK(codes_with("role", "slave") == "replica");
  CHECK(codes_with("connected_slaves", "2") == "(failover)");
}

TEST_CASE("versions that are too old") {
  CHECK(codes_with("redis_version", "6.0.16") == "old_version");
  CHECK(codes_with("redis_version", "5.0") == "old_version");
  CHECK(codes_with("redis_version", "6.2.0").empty());
  CHECK(codes_with("redis_version", "10.0.0").empty());
  CHECK(codes_with("redis_version", "6x.0").empty());  // it does not tell
  ServerFacts facts = healthy();
  facts.info["redis_version"] = "7.2.4";  // as Valkey says for its clients' sake
  facts.info["valkey_version"] = "7.1.9";
  CHECK(codes(facts) == "old_version");
  facts.info["valkey_version"] = "8.1.1";
  CHECK(codes(facts).empty());
}

TEST_CASE("a cluster is a note, one that is down a problem") {
  ServerFacts facts = healthy();
  facts.info["cluster_enabled"] = "1";
  facts.info["cluster_state"] = "ok";
  CHECK(codes(facts) == "(cluster)");
  facts.info["cluster_state"] = "fail";
  CHECK(codes(facts) == "cluster_down");
}

TEST_CASE("clocks that differ by more than a second") {
  ServerFacts facts = healthy();
  for (const int ms : {1001, -1001}) {
    facts.clock_difference = Milliseconds(ms);
    CHECK(codes(facts) == "clock_differs");
  }
  facts.clock_difference = Milliseconds(-1000);
  CHECK(codes(facts).empty());
  facts.clock_difference.reset();
  CHECK(codes(facts).empty());
}

TEST_CASE("rights that are lacking are a problem, but not of one who is only to look") {
  CHECK(codes_with({{Use::locks, {"publish"}}}) == "rights");
  CHECK(codes_with({{Use::locks, {"hset", "del", "pexpire", "publish"}}, {Use::fair, {"zadd"}}}) ==
        "(rights)");
  CHECK(codes_with({{Use::locks, {"hset", "del", "pexpire", "hgetall"}}}) == "rights");
  CHECK(codes_with({{Use::locks, {"job"}}}) == "rights");
}

TEST_CASE("rights that only one kind of lock needs are a note") {
  CHECK(codes_with({{Use::fair, {"zadd"}}, {Use::tokens, {"incr"}}}) == "(rights) (rights)");
  CHECK(codes_with({{Use::inspection, {"scan"}}}) == "(rights)");
}

TEST_CASE("a server that tells nothing") { CHECK(codes(ServerFacts{}) == "(not_permitted)"); }

TEST_CASE("problems come before notes, and nonsense is no problem") {
  ServerFacts facts = healthy();
  facts.info["aof_enabled"] = "0";
  facts.info["role"] = "slave";
  CHECK(codes(facts) == "replica (no_persistence)");
  facts = healthy();
  for (auto& [key, value] : facts.info) value = "x";
  CHECK(codes(facts) == "(eviction)");
}
