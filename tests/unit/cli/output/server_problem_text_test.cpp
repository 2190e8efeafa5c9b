// The words for what is wrong with a server.
#include <string>

#include <doctest/doctest.h>

#include "cli/output/problem_text.hpp"
#include "unit/cli/output/problem_text_fixture.hpp"

using namespace rlock;
using namespace rlock::lock;
using test::AskedServer;

namespace {

struct Told : AskedServer {
  // "DETAIL | HINT".
  std::string operator()(const ServerProblem& problem) {
    const cli::ProblemText text = cli::describe_problem(problem, remedies);
    CHECK(text.code == code_of(problem));
    return text.detail + " | " + text.hint.text;
  }
};

const std::string k_redis_cli = "redis-cli -h db.example.org -p 7000 -n 3 ";

}  // namespace

TEST_CASE("a server of the wrong version or role, or in a cluster") {
  Told told;
  using Product = OldVersion::Product;
  const std::string needed = "; locks need Redis 6.2 or Valkey 7.2 | ";
  CHECK(told(OldVersion{Product::redis, "6.0"}) == "the server is Redis 6.0" + needed);
  CHECK(told(OldVersion{Product::valkey, "7.1"}) == "the server is Valkey 7.1" + needed);
  CHECK(told(Replica{{.master = Replication::Address{"master", 6380},
                      .age = Milliseconds(3000),
                      .replicas = {}}}) ==
        "the server grants no locks: it is a replica of master:6380, which it heard from 3s ago: "
        "what it shows may be that old | "
        "rlock -r redis://master:6380/3 doctor");
  CHECK(told(EmptyDatabase{0, {{3, 1}, {4, 12}}}) ==
        "database 0 is empty, but database 3 has 1 key, database 4 has 12 keys: the locks may be "
        "there | "
        "rlock -r redis://db.example.org:7000/3 doctor");
  CHECK(told(Failover{2}) ==
        "the server has 2 replicas: a failover forgets grants that have not reached them | ");
  CHECK(told(ClusterDown{}) ==
        "the cluster is down: it serves no requests | " + k_redis_cli + "CLUSTER NODES");
  CHECK(told(OneOfCluster{}) ==
        "the server is one node of a cluster: it does not show the locks of other nodes "
        "(redis-cluster:// shows all) | " +
            k_redis_cli + "CLUSTER NODES");
}

TEST_CASE("a server's memory") {
  Told told;
  CHECK(told(OutOfMemory{1000}) ==
        "the server has reached its maxmemory of 1000 bytes: it grants no locks until there is "
        "room (releases and renewals work) | " +
            k_redis_cli +
            "CONFIG SET maxmemory BYTES  # as an administrator: or delete what nobody needs");
  const std::string mend =
      " | " + k_redis_cli + "CONFIG SET maxmemory-policy noeviction  # as an administrator";
  CHECK(told(Evicts{"allkeys-lru", 0, 5}) ==
        "maxmemory-policy is allkeys-lru: as soon as there is a maxmemory, the server may delete "
        "locks that are held" +
            mend);
  const std::string evicts =
      "maxmemory-policy is allkeys-lru and maxmemory 1000 bytes: when memory is short the server "
      "deletes locks that are held, and grants them to others";
  CHECK(told(Evicts{"allkeys-lru", 1000, 0}) == evicts + mend);
  CHECK(told(Evicts{"allkeys-lru", 1000, 17}) == evicts + "; it has evicted 17 keys so far" + mend);
}

TEST_CASE("what a server's end would cost") {
  Told told;
  CHECK(told(PersistenceFails{"rdb_last_bgsave_status"}) ==
        "the server cannot save its data (rdb_last_bgsave_status: err): it may refuse requests, "
        "and a restart forgets locks | " +
            k_redis_cli + "CONFIG GET dir  # is the disk full? what does the server's log say?");
  CHECK(told(NoPersistence{}) ==
        "appendonly is off: a server that crashes forgets who holds what; holders notice at their "
        "next renewal, and others may acquire their locks before | " +
            k_redis_cli + "CONFIG SET appendonly yes  # as an administrator");
  CHECK(told(FreshRestart{7}) ==
        "the server has been up for 7s: it may have forgotten older locks, and their holders "
        "might not know that yet | rlock -r redis://db.example.org:7000/3 doctor  # again in a "
        "minute");
  CHECK(told(FreshRestart{-3589}) ==
        "the server's clock was set back by 59m49s or more, so the server cannot tell how long it "
        "has been up: it may have forgotten older locks, and their holders might not know that "
        "yet | ");
}

TEST_CASE("clocks and rights") {
  Told told;
  const std::string clocks =
      " this host's: fair locks of Redisson lose their order | timedatectl "
      "set-ntp true  # on both hosts";
  CHECK(told(ClockDiffers{Milliseconds(2000)}) == "the server's clock is 2s ahead of" + clocks);
  CHECK(told(ClockDiffers{Milliseconds(-2000)}) == "the server's clock is 2s behind" + clocks);
  using Use = LacksRights::Use;
  const std::string man = " | man rlock  # its section \"Access control\" has them";
  const auto needed = [&](const char* what) {
    return "this user lacks rights that " + std::string(what) + " need: get &c:*" + man;
  };
  const std::vector<std::string> lacking{"get", "&c:*"};
  CHECK(told(LacksRights{Use::locks, lacking}) == needed("locks"));
  CHECK(told(LacksRights{Use::read_write, lacking}) == needed("read/write locks"));
  CHECK(told(LacksRights{Use::fair, lacking}) == needed("fair locks"));
  CHECK(told(LacksRights{Use::tokens, lacking}) == needed("fencing tokens"));
  CHECK(told(LacksRights{Use::semaphores, lacking}) == needed("semaphores"));
  CHECK(told(LacksRights{Use::inspection, lacking}) == needed("list and doctor"));
  CHECK(told(LacksRights{Use::looks, {"hset"}}) ==
        "this user may look at locks, but not take them; it lacks hset" + man);
  CHECK(told(NotPermitted{}) ==
        "this user is not allowed to run INFO: rlock cannot check the settings of the server | " +
            k_redis_cli + "ACL SETUSER default +info  # as an administrator");
}
