// What a server does, or may do, to its locks, as facts. cli/output/server_problem_text has the
// sentences and the commands. `k_code` is the published name of a problem (rlock-doctor(1)).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "lock/inspection/problem.hpp"
#include "lock/inspection/server_info.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

struct OldVersion {
  static constexpr const char* k_code = "old_version";
  enum class Product { redis, valkey };
  Product product = Product::redis;
  std::string version;
};

struct Replica {
  static constexpr const char* k_code = "replica";
  Replication replication;
};

// The database that was asked for has no keys, but others have.
struct EmptyDatabase {
  static constexpr const char* k_code = "empty_database";
  std::int64_t number = 0;
  std::vector<Database> others;
};

struct OutOfMemory {
  static constexpr const char* k_code = "out_of_memory";
  std::int64_t limit_bytes = 0;
};

// The server may delete locks that are held, now or when it gets a memory limit.
struct Evicts {
  static constexpr const char* k_code = "eviction";
  std::string policy;
  std::int64_t limit_bytes = 0;  // 0: none
  std::int64_t evicted = 0;      // how many keys so far
};

struct PersistenceFails {
  static constexpr const char* k_code = "persistence_fails";
  std::string state;  // the field of INFO that shows the failure
};

struct NoPersistence {
  static constexpr const char* k_code = "no_persistence";
};

struct FreshRestart {
  static constexpr const char* k_code = "fresh_restart";
  std::int64_t uptime_s = 0;  // negative: the clock was set back since the start
};

struct ClusterDown {
  static constexpr const char* k_code = "cluster_down";
};

struct OneOfCluster {
  static constexpr const char* k_code = "cluster";
};

// Replicas that could become the master.
struct Failover {
  static constexpr const char* k_code = "failover";
  std::int64_t replicas = 0;
};

struct ClockDiffers {
  static constexpr const char* k_code = "clock_differs";
  Milliseconds ahead{0};  // of this host's clock; negative: behind it
};

struct LacksRights {
  static constexpr const char* k_code = "rights";
  // The purpose of the rights: locks of any kind, one kind of lock, tokens, or list and doctor.
  // looks: the user is not allowed to write at all, so it is meant only to look.
  enum class Use { locks, read_write, fair, tokens, semaphores, inspection, looks };
  Use use = Use::locks;
  std::vector<std::string> lacking;  // commands, keys and channels
};

// The user is not allowed to ask for INFO.
struct NotPermitted {
  static constexpr const char* k_code = "not_permitted";
};

using ServerProblem = std::variant<OldVersion, Replica, EmptyDatabase, OutOfMemory, Evicts,
                                   PersistenceFails, NoPersistence, FreshRestart, ClusterDown,
                                   OneOfCluster, Failover, ClockDiffers, LacksRights, NotPermitted>;

// A problem needs somebody to act. A note is only good to know.
enum class Level { problem, note };

struct Finding {
  Level level = Level::problem;
  ServerProblem problem;
};

// What locks depend on, as the server reports it.
struct ServerFacts {
  ServerInfo info;                               // empty: not permitted
  std::int64_t database = 0;                     // that was asked for
  std::optional<Milliseconds> clock_difference;  // the server's clock minus this host's
  std::map<LacksRights::Use, std::vector<std::string>> lacking;  // rights
};

// Asks the server. `name`: a lock whose keys the user needs; nothing: no particular lock. Throws as
// redis::Client::run.
[[nodiscard]] ServerFacts read_server_facts(redis::Client& client,
                                            const std::optional<std::string>& name);

// Returns the problems and notes of a server.
[[nodiscard]] std::vector<Finding> find_server_problems(const ServerFacts& facts);

}  // namespace rlock::lock
