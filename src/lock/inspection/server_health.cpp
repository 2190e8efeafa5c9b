#include "lock/inspection/server_health.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "base/duration.hpp"
#include "base/integer.hpp"
#include "base/shell_quote.hpp"

namespace rlock::lock {
namespace {

// Redisson's fair locks compare their host's clock with deadlines from another's.
constexpr Milliseconds k_clock_tolerance{1000};
// Whoever held a lock of the default lease before a restart has noticed after so long.
constexpr std::int64_t k_fresh_s = 60;

// A parsed INFO with its values understood.
class Info {
 public:
  explicit Info(const std::map<std::string, std::string>& values) : values_(values) {}

  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] std::string text(const char* name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? "" : found->second;
  }
  [[nodiscard]] bool is(const char* name, const char* value) const { return text(name) == value; }
  [[nodiscard]] std::int64_t number(const char* name, std::int64_t otherwise = 0) const {
    return to_integer(text(name), otherwise);
  }

 private:
  const std::map<std::string, std::string>& values_;
};

using Findings = std::vector<Finding>;

void add(Findings& findings, Level level, const char* code, const std::string& detail,
         const std::string& hint) {
  findings.push_back({level, {code, detail, hint}});
}

// Returns whether `version`, as "7.0.15", is before `major`.`minor`.
bool is_before(const std::string& version, int major, int minor) {
  int found[2] = {0, 0};
  const char* at = version.data();
  const char* const end = at + version.size();
  for (int& part : found) {
    at = std::from_chars(at, end, part).ptr;
    if (at != end) ++at;
  }
  if (found[0] == 0) return false;  // it does not tell
  return found[0] != major ? found[0] < major : found[1] < minor;
}

void check_version(Findings& findings, const Info& info) {
  const std::string valkey = info.text("valkey_version");
  const std::string redis = info.text("redis_version");
  const bool is_old =
      valkey.empty() ? !redis.empty() && is_before(redis, 6, 2) : is_before(valkey, 7, 2);
  if (!is_old) return;
  add(findings, Level::problem, "old_version",
      "the server is " + (valkey.empty() ? "Redis " + redis : "Valkey " + valkey) +
          "; locks need Redis 6.2 or Valkey 7.2",
      "");
}

void check_role(Findings& findings, const ServerFacts& facts) {
  const Info info(facts.info);
  if (!info.is("role", "slave")) return;
  const std::string master = info.text("master_host") + ":" + info.text("master_port");
  using Transport = redis::Endpoint::Transport;
  redis::Endpoint there = facts.endpoint;
  if (there.transport != Transport::tls) there.transport = Transport::tcp;
  there.host = info.text("master_host");
  there.port = static_cast<std::uint16_t>(info.number("master_port"));
  add(findings, Level::problem, "replica",
      "the server is a replica of " + master + ": it grants no locks, and what it shows is late",
      "rlock -r " + shell_quote(there.display()) + " doctor");
}

void check_memory(Findings& findings, const ServerFacts& facts) {
  const Info info(facts.info);
  const std::string policy = info.text("maxmemory_policy");
  const std::int64_t limit = info.number("maxmemory");
  const std::string noeviction = "redis-cli CONFIG SET maxmemory-policy noeviction";
  if (policy.empty() || policy == "noeviction") {
    if (limit > 0 && info.number("used_memory") >= limit) {
      add(findings, Level::problem, "out_of_memory",
          "the server has reached its maxmemory of " + std::to_string(limit) +
              " bytes: it grants no locks until there is room (releases and renewals work)",
          "redis-cli CONFIG SET maxmemory BYTES  # or delete what nobody needs");
    }
    return;
  }
  const std::int64_t evicted = info.number("evicted_keys");
  if (limit > 0) {
    add(findings, Level::problem, "eviction",
        "maxmemory-policy is " + policy + " and maxmemory " + std::to_string(limit) +
            " bytes: when memory is short the server deletes locks that are held, and another gets "
            "them" +
            (evicted > 0 ? "; it has evicted " + std::to_string(evicted) + " keys so far" : ""),
        noeviction);
  } else {
    add(findings, Level::note, "eviction",
        "maxmemory-policy is " + policy +
            ": as soon as there is a maxmemory, the server may delete locks that are held",
        noeviction);
  }
}

void check_persistence(Findings& findings, const ServerFacts& facts) {
  const Info info(facts.info);
  for (const char* state :
       {"aof_last_write_status", "aof_last_bgrewrite_status", "rdb_last_bgsave_status"}) {
    if (!info.is(state, "err")) continue;
    add(findings, Level::problem, "persistence_fails",
        std::string("the server cannot save its data (") + state +
            ": err): it may refuse requests, and a restart forgets locks",
        "redis-cli CONFIG GET dir  # is the disk full? what does the server's log say?");
    break;
  }
  if (info.is("aof_enabled", "0")) {
    add(findings, Level::note, "no_persistence",
        "appendonly is off: a server that crashes forgets who holds what; holders notice at their "
        "next renewal, others may be let in before",
        "redis-cli CONFIG SET appendonly yes");
  }
  const std::int64_t uptime = info.number("uptime_in_seconds", k_fresh_s);
  if (uptime < k_fresh_s) {
    add(findings, Level::note, "fresh_restart",
        "the server has been up for " + std::to_string(uptime) +
            "s: locks from before may be forgotten, and their holders not know it yet",
        "rlock doctor  # again in a minute");
  }
}

void check_topology(Findings& findings, const ServerFacts& facts) {
  const Info info(facts.info);
  if (info.is("cluster_enabled", "1")) {
    const bool is_down = info.is("cluster_state", "fail");
    add(findings, is_down ? Level::problem : Level::note, is_down ? "cluster_down" : "cluster",
        is_down ? "the cluster is down: it serves no requests"
                : "the server is one of a cluster: locks of other slots are not here "
                  "(redis-cluster:// looks at all nodes)",
        "redis-cli CLUSTER NODES");
  }
  if (info.is("role", "master") && info.number("connected_slaves") > 0) {
    add(findings, Level::note, "failover",
        "the server has " + info.text("connected_slaves") +
            " replicas: a failover forgets grants that have not reached them",
        "");
  }
}

void check_clock(Findings& findings, const ServerFacts& facts) {
  if (!facts.clock_difference) return;
  const Milliseconds difference = *facts.clock_difference;
  if (std::chrono::abs(difference) <= k_clock_tolerance) return;
  const std::string side = difference.count() > 0 ? " ahead of" : " behind";
  add(findings, Level::problem, "clock_differs",
      "the server's clock is " + format_duration(std::chrono::abs(difference)) + side +
          " this host's: fair locks of Redisson lose their order",
      "timedatectl set-ntp true  # on both hosts");
}

void check_rights(Findings& findings, const std::vector<std::string>& lacking) {
  if (lacking.empty()) return;
  std::string all;
  for (const std::string& right : lacking) all += (all.empty() ? "" : " ") + right;
  // Somebody who may not write at all is not meant to.
  const auto lacks = [&](const char* right) {
    return std::find(lacking.begin(), lacking.end(), right) != lacking.end();
  };
  const bool only_reads = lacks("hset") && lacks("del") && lacks("pexpire") && !lacks("hgetall");
  add(findings, only_reads ? Level::note : Level::problem, "rights",
      (only_reads ? "this user may look at locks, but not take them; it lacks "
                  : "this user lacks rights that locks need: ") +
          all,
      "man rlock  # its section \"Access control\" has them");
}

}  // namespace

std::vector<Finding> find_server_problems(const ServerFacts& facts) {
  Findings findings;
  const Info info(facts.info);
  check_version(findings, info);
  check_role(findings, facts);
  check_memory(findings, facts);
  check_persistence(findings, facts);
  check_topology(findings, facts);
  check_clock(findings, facts);
  check_rights(findings, facts.lacking);
  if (info.empty()) {
    add(findings, Level::note, "not_permitted",
        "this user may not ask for INFO: what the server may do to locks is not known",
        "redis-cli ACL SETUSER USER +info");
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.level < b.level; });
  return findings;
}

}  // namespace rlock::lock
