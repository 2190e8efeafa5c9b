#include "lock/inspection/server_health.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/integer.hpp"
#include "base/words.hpp"
#include "lock/words/key_names.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {
namespace {

// Redisson's fair locks compare their host's clock with deadlines from another's.
constexpr Milliseconds k_clock_tolerance{1000};
// After this time, a holder with the default lease has noticed the restart.
constexpr std::int64_t k_fresh_s = 60;
// An answer about the clock that took longer is useless.
constexpr Milliseconds k_longest_question{1000};

// Returns the server's clock minus this host's, or nothing if the answer took too long.
std::optional<Milliseconds> compare_clocks(redis::Client& client) {
  using std::chrono::system_clock;
  const auto before = system_clock::now();
  const redis::Reply reply = client.command({"TIME"});
  const auto spent = system_clock::now() - before;
  if (reply.type != redis::Reply::Type::array || spent > k_longest_question) return std::nullopt;
  const auto& parts = reply.as_array(2);
  const auto seconds = parse_integer<std::uint32_t>(parts[0].as_text());
  const auto part = parse_integer<std::uint32_t>(parts[1].as_text());
  if (!seconds || !part) return std::nullopt;
  const auto server = std::chrono::seconds(*seconds) + std::chrono::microseconds(*part);
  return std::chrono::round<Milliseconds>(server - (before + spent / 2).time_since_epoch());
}

std::string text_of(const ServerInfo& info, const char* name) {
  const auto found = info.find(name);
  return found == info.end() ? "" : found->second;
}

template <typename Number = std::int64_t>
Number number_of(const ServerInfo& info, const char* name, Number otherwise = 0) {
  return parse_integer<Number>(text_of(info, name)).value_or(otherwise);
}

using Findings = std::vector<Finding>;

void add(Findings& findings, Level level, ServerProblem problem) {
  findings.push_back({level, std::move(problem)});
}

// Returns whether `version`, as "7.0.15", is before `major`.`minor`.
bool is_before(const std::string& version, int major, int minor) {
  const auto parts = split(version, '.');
  const auto part = [&](std::size_t i) {
    return i < parts.size() ? parse_integer<int>(parts[i]).value_or(0) : 0;
  };
  if (part(0) == 0) return false;  // unknown
  return std::pair(part(0), part(1)) < std::pair(major, minor);
}

void check_version(Findings& findings, const ServerInfo& info) {
  using Product = OldVersion::Product;
  const std::string valkey = text_of(info, "valkey_version");
  const std::string redis = text_of(info, "redis_version");
  const bool is_old =
      valkey.empty() ? !redis.empty() && is_before(redis, 6, 2) : is_before(valkey, 7, 2);
  if (!is_old) return;
  add(findings, Level::problem,
      valkey.empty() ? OldVersion{Product::redis, redis} : OldVersion{Product::valkey, valkey});
}

void check_role(Findings& findings, const ServerInfo& info) {
  auto replication = replication_of(info);
  if (replication && replication->master) {
    add(findings, Level::problem, Replica{*std::move(replication)});
  }
}

void check_database(Findings& findings, const ServerFacts& facts) {
  std::vector<Database> databases = databases_of(facts.info);
  if (databases.empty() ||
      std::ranges::find(databases, facts.database, &Database::number) != databases.end()) {
    return;
  }
  add(findings, Level::note, EmptyDatabase{facts.database, std::move(databases)});
}

void check_memory(Findings& findings, const ServerInfo& info) {
  const std::string policy = text_of(info, "maxmemory_policy");
  const std::int64_t limit = number_of(info, "maxmemory");
  if (policy.empty() || policy == "noeviction") {
    if (limit > 0 && number_of(info, "used_memory") >= limit) {
      add(findings, Level::problem, OutOfMemory{limit});
    }
    return;
  }
  add(findings, limit > 0 ? Level::problem : Level::note,
      Evicts{policy, limit, number_of(info, "evicted_keys")});
}

void check_persistence(Findings& findings, const ServerInfo& info) {
  for (const char* state :
       {"aof_last_write_status", "aof_last_bgrewrite_status", "rdb_last_bgsave_status"}) {
    if (text_of(info, state) != "err") continue;
    add(findings, Level::problem, PersistenceFails{state});
    break;
  }
  if (text_of(info, "aof_enabled") == "0") add(findings, Level::note, NoPersistence{});
  const std::int64_t uptime = number_of(info, "uptime_in_seconds", k_fresh_s);
  if (uptime < k_fresh_s) add(findings, Level::note, FreshRestart{uptime});
}

void check_topology(Findings& findings, const ServerInfo& info) {
  if (text_of(info, "cluster_enabled") == "1") {
    if (text_of(info, "cluster_state") == "fail") {
      add(findings, Level::problem, ClusterDown{});
    } else {
      add(findings, Level::note, OneOfCluster{});
    }
  }
  const std::int64_t replicas = number_of(info, "connected_slaves");
  if (text_of(info, "role") == "master" && replicas > 0)
    add(findings, Level::note, Failover{replicas});
}

void check_clock(Findings& findings, const ServerFacts& facts) {
  if (!facts.clock_difference || std::chrono::abs(*facts.clock_difference) <= k_clock_tolerance) {
    return;
  }
  add(findings, Level::problem, ClockDiffers{*facts.clock_difference});
}

void check_rights(Findings& findings,
                  const std::map<LacksRights::Use, std::vector<std::string>>& lacking) {
  using Use = LacksRights::Use;
  const auto of_locks = lacking.find(Use::locks);
  const auto lacks = [&](const char* right) {
    return of_locks != lacking.end() &&
           std::ranges::find(of_locks->second, right) != of_locks->second.end();
  };
  const bool only_looks = lacks("hset") && lacks("del") && lacks("pexpire") && !lacks("hgetall");
  for (const auto& [use, rights] : lacking) {
    if (only_looks && use != Use::inspection) {
      if (use == Use::locks) add(findings, Level::note, LacksRights{Use::looks, rights});
    } else {
      add(findings, use == Use::locks ? Level::problem : Level::note, LacksRights{use, rights});
    }
  }
}

LacksRights::Use use_of(const std::string& word) {
  using Use = LacksRights::Use;
  if (word == "read_write") return Use::read_write;
  if (word == "fair") return Use::fair;
  if (word == "tokens") return Use::tokens;
  if (word == "semaphores") return Use::semaphores;
  return word == "inspection" ? Use::inspection : Use::locks;
}

}  // namespace

ServerFacts read_server_facts(redis::Client& client, const std::optional<std::string>& name) {
  const KeyNames keys(name.value_or("rlock"));
  ServerFacts facts;
  facts.database = client.options().endpoint.database;
  const redis::Reply rights = client.run(
      lua::rights::Call{.channel = keys.channel,
                        .read_write_channel = keys.read_write_channel,
                        .semaphore_channel = keys.semaphore_channel,
                        .lock = keys.lock,
                        .token = keys.token,
                        .others = {keys.info, keys.queue, keys.scores, keys.latch("doctor")}});
  const auto& pairs = rights.as_array();
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    facts.lacking[use_of(pairs[i].as_text())].push_back(pairs[i + 1].as_text());
  }
  // A user may have rights for some lock names only.
  const auto of_locks = facts.lacking.find(LacksRights::Use::locks);
  if (!name && of_locks != facts.lacking.end() && of_locks->second.front() == keys.lock) {
    facts.lacking.clear();
  }
  const redis::Reply info = client.command({"INFO"});
  if (info.type == redis::Reply::Type::string) facts.info = parse_info(info.text);
  const redis::Reply cluster = client.command({"CLUSTER", "INFO"});
  if (cluster.type == redis::Reply::Type::string) facts.info.merge(parse_info(cluster.text));
  facts.clock_difference = compare_clocks(client);
  return facts;
}

std::vector<Finding> find_server_problems(const ServerFacts& facts) {
  Findings findings;
  const ServerInfo& info = facts.info;
  check_version(findings, info);
  check_role(findings, info);
  check_database(findings, facts);
  check_memory(findings, info);
  check_persistence(findings, info);
  check_topology(findings, info);
  check_clock(findings, facts);
  check_rights(findings, facts.lacking);
  if (info.empty()) add(findings, Level::note, NotPermitted{});
  std::ranges::stable_sort(findings, {}, &Finding::level);
  return findings;
}

}  // namespace rlock::lock
