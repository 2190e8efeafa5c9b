// Renewals while the slot of a lock moves in a cluster: some of its keys are on one node, some on
// another.
#include <string>

#include <doctest/doctest.h>

#include "redis/client.hpp"
#include "redis/server_error.hpp"
#include "support/cluster.hpp"
#include "support/script_calls.hpp"

using namespace rlock;
using namespace std::chrono_literals;

namespace {

constexpr const char* k_is_moving = "a slot is being moved";

redis::ClientOptions options_of(const test::Cluster& cluster) {
  redis::ClientOptions options;
  options.endpoint = redis::parse_url(cluster.url());
  return options;
}

}  // namespace

TEST_CASE("moving slot: a key of a reader's hold that is on the other node is no answer") {
  test::Cluster cluster;
  redis::Client client(options_of(cluster));
  const std::size_t from = cluster.owner("job");
  const std::size_t to = (from + 1) % 3;
  const lua::renew_read_write::Call renewal{.lock = test::k_job.lock,
                                            .lease = Milliseconds(60'000),
                                            .owner = "u:1",
                                            .info = test::k_job.info,
                                            .prefix = test::k_job.reader_prefix,
                                            .side = "read"};
  const auto renew = [&] { return client.run(renewal); };
  REQUIRE(client
              .run(lua::acquire_read::Call{.lock = test::k_job.lock,
                                           .info = test::k_job.info,
                                           .latch = test::k_job.latch("1"),
                                           .lease = Milliseconds(30'000),
                                           .owner = "u:1",
                                           .about_json = "",
                                           .prefix = test::k_job.reader_prefix})
              .as_array(1)[0]
              .integer == 1);
  const std::string companion = test::k_job.reader_prefix + "u:1:rwlock_timeout:1";
  REQUIRE(cluster.command("job", {"EXISTS", companion}) == "1");
  CHECK(renew().integer == 1);

  client.set_timeout(500ms);
  for (const bool lock_goes_first : {true, false}) {
    CAPTURE(lock_goes_first);
    const std::size_t there = cluster.owner("job");
    const std::size_t next = there == from ? to : from;
    cluster.begin_move("job", next);
    cluster.move_keys("job", {lock_goes_first ? std::string(test::k_job.lock) : companion}, next);
    CHECK_THROWS_WITH_AS(renew(), doctest::Contains(k_is_moving), redis::Unavailable);
    cluster.move_keys("job", cluster.node(there).keys(), next);
    CHECK(renew().integer == 1);
    cluster.end_move("job", next);
    client.set_timeout(20s);
    CHECK(renew().integer == 1);
    client.set_timeout(500ms);
  }

  // Where no slot moves, a missing key is one that was deleted.
  client.set_timeout(20s);
  REQUIRE(cluster.command("job", {"DEL", companion}) == "1");
  CHECK(renew().integer == 1);
}
