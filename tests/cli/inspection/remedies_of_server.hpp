// The trials of what can be wrong with a server: the hint of each is pasted.
#pragma once

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "cli/inspection/remedies_fixture.hpp"
#include "cli/inspection/remedies_ward.hpp"
#include "support/cluster.hpp"
#include "support/fake_server.hpp"
#include "support/foreign_owner.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

namespace rlock::test::remedies {

inline std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

// Returns what doctor says of a server whose clock stands still, and that is as old.
inline std::string hint_of_fake(const std::string& code) {
  const FakeServer server(
      FakeOptions{.replies = {"+OK\r\n*0\r\n", bulk("redis_version:6.0.16\r\n"), "-ERR no\r\n",
                              "*2\r\n" + bulk("1000000") + bulk("0")},
                  .close_after = true});
  return hint_of(code, {"-r", "redis://127.0.0.1:" + std::to_string(server.port())});
}

inline void try_old_version() { CHECK(hint_of_fake("old_version").empty()); }

inline void try_clock_differs() {
  CHECK(hint_of_fake("clock_differs") == "timedatectl set-ntp true  # on both hosts");
}

inline void try_replica() {
  Guarded master;
  Ward ward;
  ward.server.command({"CONFIG", "SET", "masteruser", "bob"});
  ward.server.command({"CONFIG", "SET", "masterauth", k_password});
  ward.server.command({"REPLICAOF", "127.0.0.1", std::to_string(master.server.port())});
  REQUIRE(wait_until([&] {
    return has(ward.server.command({"INFO", "replication"}), "master_link_status:up");
  }));
  paste(ward.hint("replica"), ward.password);
  const std::string url = "redis://bob:" + k_password + "@" + ward.host + "/3";
  const std::string hint = hint_of("replica", {"-r", url});
  CHECK(hint ==
        "rlock --user bob -r redis://" + master.host + "/3 doctor  # with RLOCK_PASSWORD set");
  paste(hint, ward.password);
  CHECK(hint_of("failover", {"--user", "bob", "-r", "redis://" + master.host}, ward.password) ==
        "");
}

inline void try_unknown_waiters() {
  Ward ward;
  Server replica({.args = {"--masteruser", "bob", "--masterauth", k_password, "--replicaof",
                           "127.0.0.1 " + std::to_string(ward.server.port())}});
  replica.command({"ACL", "SETUSER", "bob", "on", ">" + k_password, "~*", "&*", "+@all"});
  REQUIRE(wait_until([&] {
    return has(ward.server.command({"INFO", "replication"}), "state=online");
  }));
  ward.command({"RPUSH", k_queue, k_foreign_owner});
  ward.command({"ZADD", k_scores, "9999999999999", k_foreign_owner});
  const std::string there = "redis://127.0.0.1:" + std::to_string(replica.port()) + "/3";
  CHECK(has(ward.hint("unknown_waiters"), "-r " + there + " inspect-queue job"));
  ward.paste_hint("unknown_waiters");
}

inline void try_empty_database() {
  Ward ward;
  ward.server.command({"SET", "other", "x"});
  ward.paste_hint("empty_database");
}

inline void try_out_of_memory() {
  Ward ward;
  ward.command({"CONFIG", "SET", "maxmemory", "1"});
  paste(replaced(ward.hint("out_of_memory"), "BYTES", "0"), ward.password);
  CHECK(ward.server.command({"CONFIG", "GET", "maxmemory"}) == "maxmemory\n0");
}

inline void try_eviction() {
  Ward ward;
  for (const char* limit : {"0", "100mb"}) {
    ward.command({"CONFIG", "SET", "maxmemory", limit});
    ward.command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
    ward.mend("eviction");
  }
}

inline void try_persistence_fails() {
  Ward ward;
  std::filesystem::create_directories(ward.server.directory() + "/dump.rdb/full");
  ward.command({"CONFIG", "SET", "dbfilename", "dump.rdb"});
  ward.command({"BGSAVE"});
  REQUIRE(wait_until([&] {
    return has(ward.server.command({"INFO", "persistence"}), "rdb_last_bgsave_status:err");
  }));
  paste(ward.hint("persistence_fails"), ward.password);
}

inline void try_no_persistence() {
  Ward ward;
  ward.mend("no_persistence");
}

inline void try_fresh_restart() {
  Ward ward;
  paste(ward.hint("fresh_restart"), ward.password);
}

inline void try_cluster_down() {
  Server node({.args = {"--cluster-enabled", "yes"}});
  paste(hint_of("cluster_down", {"-r", node.tcp_url()}), {});
}

inline void try_cluster() {
  Cluster cluster;
  const std::size_t node = cluster.owner("job");
  paste(hint_of("cluster", {"-r", cluster.node(node).tcp_url()}), {});
}

inline void try_rights() {
  Ward ward;
  ward.server.command({"ACL", "SETUSER", "bob", "-publish"});
  CHECK(ward.hint("rights") == "man rlock  # its section \"Access control\" has them");
}

inline void try_not_permitted() {
  Ward ward;
  ward.server.command({"ACL", "SETUSER", "bob", "-info"});
  paste(ward.hint("not_permitted"), ward.password);
  CHECK_FALSE(has(ward.server.command({"ACL", "GETUSER", "bob"}), "-info"));
}

}  // namespace rlock::test::remedies
