#include <chrono>
#include <map>
#include <string>

#include "base/duration.hpp"
#include "base/wording.hpp"
#include "base/words.hpp"
#include "cli/output/problem_text.hpp"
#include "cli/output/view_text.hpp"

namespace rlock::cli {
namespace {

// The words of each problem of a server, without its code.
struct ServerWording {
  const Remedies& remedies;

  ProblemText operator()(const lock::OldVersion& it) const {
    const bool is_redis = it.product == lock::OldVersion::Product::redis;
    return {std::string("the server is ") + (is_redis ? "Redis " : "Valkey ") + it.version +
            "; locks need Redis 6.2 or Valkey 7.2"};
  }

  ProblemText operator()(const lock::Replica& it) const {
    return {"the server grants no locks: it is " + describe_replica(it.replication),
            remedies.rlock_at(it.replication.master->host, it.replication.master->port, "doctor")};
  }

  ProblemText operator()(const lock::EmptyDatabase& it) const {
    return {describe_databases(it.number, it.others) + ": the locks may be there",
            remedies.rlock_in(static_cast<int>(it.others.front().number), "doctor")};
  }

  ProblemText operator()(const lock::OutOfMemory& it) const {
    return {"the server has reached its maxmemory of " + std::to_string(it.limit_bytes) +
                " bytes: it grants no locks until there is room (releases and renewals work)",
            remedies.as_administrator("CONFIG SET maxmemory BYTES", "or delete what nobody needs")};
  }

  ProblemText operator()(const lock::Evicts& it) const {
    std::string policy = "maxmemory-policy is " + it.policy;
    if (it.limit_bytes <= 0) {
      policy += ": as soon as there is a maxmemory, the server may delete locks that are held";
    } else {
      policy += " and maxmemory " + std::to_string(it.limit_bytes) +
                " bytes: when memory is short the server deletes locks that are held, and grants "
                "them to others";
      if (it.evicted > 0)
        policy +=
            "; it has evicted " + plural(static_cast<std::size_t>(it.evicted), "key") + " so far";
    }
    return {policy, remedies.as_administrator("CONFIG SET maxmemory-policy noeviction")};
  }

  ProblemText operator()(const lock::PersistenceFails& it) const {
    return {
        "the server cannot save its data (" + it.state +
            ": err): it may refuse requests, and a restart forgets locks",
        remedies.redis_cli("CONFIG GET dir", "is the disk full? what does the server's log say?")};
  }

  ProblemText operator()(const lock::NoPersistence&) const {
    return {
        "appendonly is off: a server that crashes forgets who holds what; holders notice at their "
        "next renewal, and others may acquire their locks before",
        remedies.as_administrator("CONFIG SET appendonly yes")};
  }

  ProblemText operator()(const lock::FreshRestart& it) const {
    const std::string forgets =
        "it may have forgotten older locks, and their holders might not know that yet";
    if (it.uptime_s < 0) {
      return {"the server's clock was set back by " +
              format_duration(std::chrono::seconds(-it.uptime_s)) +
              " or more, so the server cannot tell how long it has been up: " + forgets};
    }
    return {"the server has been up for " + std::to_string(it.uptime_s) + "s: " + forgets,
            remedies.rlock("doctor", "again in a minute")};
  }

  ProblemText operator()(const lock::ClusterDown&) const {
    return {"the cluster is down: it serves no requests", remedies.redis_cli("CLUSTER NODES")};
  }

  ProblemText operator()(const lock::OneOfCluster&) const {
    return {
        "the server is one node of a cluster: it does not show the locks of other nodes "
        "(redis-cluster:// shows all)",
        remedies.redis_cli("CLUSTER NODES")};
  }

  ProblemText operator()(const lock::Failover& it) const {
    return {"the server has " + plural(static_cast<std::size_t>(it.replicas), "replica") +
            ": a failover forgets grants that have not reached " +
            (it.replicas == 1 ? "it" : "them")};
  }

  ProblemText operator()(const lock::ClockDiffers& it) const {
    return {"the server's clock is " + format_duration(std::chrono::abs(it.ahead)) +
                (it.ahead.count() > 0 ? " ahead of" : " behind") +
                " this host's: fair locks of Redisson lose their order",
            {Hint::Kind::command, "timedatectl set-ntp true  # on both hosts"}};
  }

  ProblemText operator()(const lock::LacksRights& it) const {
    using Use = lock::LacksRights::Use;
    static const std::map<Use, std::string> k_needy = {
        {Use::locks, "locks"},           {Use::read_write, "read/write locks"},
        {Use::fair, "fair locks"},       {Use::tokens, "fencing tokens"},
        {Use::semaphores, "semaphores"}, {Use::inspection, "list and doctor"}};
    return {
        (it.use == Use::looks ? "this user may look at locks, but not take them; it lacks "
                              : "this user lacks rights that " + k_needy.at(it.use) + " need: ") +
            join(it.lacking, " "),
        {Hint::Kind::command, "man rlock  # its section \"Access control\" has them"}};
  }

  ProblemText operator()(const lock::NotPermitted&) const {
    return {"this user is not allowed to run INFO: rlock cannot check the settings of the server",
            remedies.as_administrator("ACL SETUSER " + remedies.user() + " +info")};
  }
};

}  // namespace

ProblemText describe_problem(const lock::ServerProblem& problem, const Remedies& remedies) {
  ProblemText text = std::visit(ServerWording{remedies}, problem);
  text.code = lock::code_of(problem);
  return text;
}

}  // namespace rlock::cli
