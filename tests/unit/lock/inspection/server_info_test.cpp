#include "lock/inspection/server_info.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace rlock;
using namespace rlock::lock;

namespace {

std::optional<Replication> read(const std::string& text) {
  return replication_of(parse_info("# Replication\r\n" + text));
}

const std::string k_slave = "role:slave\r\nmaster_host:a\r\nmaster_port:6380\r\n";

}  // namespace

TEST_CASE("replication: a master, with its replicas") {
  CHECK_FALSE(read("").has_value());
  const auto alone = read("role:master\r\nconnected_slaves:0\r\n");
  REQUIRE(alone.has_value());
  CHECK_FALSE(alone->master.has_value());
  CHECK_FALSE(alone->is_stale());
  const auto master = read(
      "role:master\r\nconnected_slaves:2\r\n"
      "slave0:ip=10.0.0.2,port=6381,state=online,offset=1,lag=0\r\n"
      "slave1:ip=::1,port=6382,state=online,offset=1,lag=0\r\n");
  REQUIRE(master->replicas.size() == 2);
  CHECK(master->replicas[0].host == "10.0.0.2");
  CHECK(master->replicas[0].port == 6381);
  CHECK(master->replicas[1].host == "::1");
}

TEST_CASE("replication: a replica is stale without news from its master") {
  const auto linked = read(k_slave + "master_link_status:up\r\nmaster_last_io_seconds_ago:11\r\n");
  REQUIRE(linked->master.has_value());
  CHECK(linked->master->host == "a");
  CHECK(linked->master->port == 6380);
  CHECK(linked->age == Milliseconds(11'000));
  CHECK_FALSE(linked->is_stale());
  CHECK(read(k_slave + "master_link_status:up\r\nmaster_last_io_seconds_ago:16\r\n")->is_stale());
  const auto down = read(k_slave +
                         "master_link_status:down\r\nmaster_last_io_seconds_ago:-1\r\n"
                         "master_link_down_since_seconds:7\r\n");
  CHECK(down->is_stale());
  CHECK(down->age == Milliseconds(7000));
  const auto never =
      read(k_slave + "master_link_status:down\r\nmaster_link_down_since_seconds:-1\r\n");
  CHECK(never->is_stale());
  CHECK_FALSE(never->age.has_value());
}

TEST_CASE("databases that have keys") {
  const auto found = databases_of(
      parse_info("# Keyspace\r\ndb0:keys=2,expires=0,avg_ttl=0\r\ndb3:keys=0\r\ndbx:keys=1\r\n"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].number == 0);
  CHECK(found[0].keys == 2);
}
