// acquire_read.lua, acquire_write.lua, reenter_read_write.lua, renew_read_write.lua and
// release_read_write.lua
#include "lock/kinds/read_write.hpp"

#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "lock/inspection/snapshot.hpp"
#include "redis/read_write_fixture.hpp"
#include "redis/refusal.hpp"
#include "support/resp.hpp"

using namespace rlock;
using namespace rlock::test::read_write;
using lock::Kind;
using lock::Release;
using lock::Renewal;
using lock::SingleServerLock;
using test::Words;

namespace {

const std::string k_channel = "redisson_rwlock:{job}";

// Listens, and tells what was published up to now.
class Ear {
 public:
  explicit Ear(const test::Server& server) : server_(server), connection_(server.connect()) {
    connection_.call({"SUBSCRIBE", k_channel});
  }
  [[nodiscard]] Words heard() {
    Words messages;
    server_.command({"PUBLISH", k_channel, "end"});
    // A message comes in place of the answer to a PING, which then comes later.
    while (true) {
      const Words reply = connection_.call({"PING"});
      if (reply[0] == "message" && reply.at(2) == "end") break;
      if (reply[0] == "message") messages.push_back(reply.at(2));
    }
    return messages;
  }

 private:
  const test::Server& server_;
  test::RespClient connection_;
};

}  // namespace

TEST_CASE("readers share the lock, in Redisson's layout, and leave nothing") {
  Setting set;
  SingleServerLock one = a_reader("u:1");
  SingleServerLock two = a_reader("u:2", Milliseconds(60'000));
  CHECK(set.takes(one));
  CHECK(set.server.list({"HGETALL", "job"}) == Words{"mode", "read", "u:1", "1"});
  CHECK(set.server.command({"GET", hold_key("u:1", 1)}) == "1");
  CHECK(set.ttl(hold_key("u:1", 1)) > 25'000);
  CHECK(set.ttl() > 25'000);
  CHECK(set.takes(two));
  CHECK(set.ttl() > 55'000);
  CHECK(set.server.command({"HLEN", "job"}) == "3");
  // The lock lasts no longer than the readers that are left.
  CHECK(two.release(set.client) == Release::freed);
  CHECK(set.server.list({"HGETALL", "job"}) == Words{"mode", "read", "u:1", "1"});
  CHECK(set.ttl() <= 30'000);
  CHECK(set.ttl() > 20'000);
  CHECK(one.release(set.client) == Release::freed);
  CHECK(comes_to_be_empty(set.server));
}

TEST_CASE("the writer is alone, in Redisson's layout, and leaves nothing") {
  Setting set;
  SingleServerLock writer = a_writer("u:1");
  SingleServerLock other = a_writer("u:2");
  SingleServerLock reader = a_reader("u:3");
  CHECK(set.takes(writer));
  CHECK(set.server.list({"HGETALL", "job"}) == Words{"mode", "write", "u:1:write", "1"});
  const lock::Busy busy = set.refusal(other);
  CHECK(busy.owner == "u:1:write");
  CHECK(busy.holder.host == "web1");
  CHECK(busy.ttl > Milliseconds(20'000));
  CHECK(set.refusal(reader).owner == "u:1:write");
  CHECK(writer.release(set.client) == Release::freed);
  CHECK(set.takes(reader));
  CHECK(set.refusal(other).owner == "u:3");
  CHECK(reader.release(set.client) == Release::freed);
  CHECK(set.takes(other));
  CHECK(other.release(set.client) == Release::freed);
  CHECK(comes_to_be_empty(set.server));
}

TEST_CASE("messages: 0 when the last reader ends, 1 and then 0 when the writer does") {
  Setting set;
  Ear ear(set.server);
  SingleServerLock one = a_reader("u:1");
  SingleServerLock two = a_reader("u:2");
  CHECK(set.takes(one));
  CHECK(set.takes(two));
  CHECK(one.release(set.client) == Release::freed);
  CHECK(ear.heard().empty());
  CHECK(two.release(set.client) == Release::freed);
  CHECK(ear.heard() == Words{"0"});
  SingleServerLock writer = a_writer("u:3");
  CHECK(set.takes(writer));
  CHECK(writer.release(set.client) == Release::freed);
  CHECK(ear.heard() == Words{"1", "0"});
}

TEST_CASE("the writer may read, and reads on when it writes no longer: readers are told") {
  Setting set;
  Ear ear(set.server);
  SingleServerLock writer = a_writer("u:1", Milliseconds(600'000));
  SingleServerLock inner = a_reader("u:1");
  SingleServerLock other = a_reader("u:2");
  CHECK(set.takes(writer));
  REQUIRE(inner.reenter(set.client));
  CHECK(set.hash("u:1") == "1");
  CHECK(set.ttl(hold_key("u:1", 1)) > 25'000);
  CHECK_FALSE(set.takes(other));
  SUBCASE("the writing ends first") {
    CHECK(writer.release(set.client) == Release::still_held);
    CHECK(set.server.list({"HGETALL", "job"}) == Words{"mode", "read", "u:1", "1"});
    CHECK(ear.heard() == Words{"1", "0"});
    CHECK(set.ttl() <= 30'000);  // a writer of Redisson's waits for the TTL that it sees
    CHECK(set.takes(other));
    CHECK(other.release(set.client) == Release::freed);
    CHECK(inner.release(set.client) == Release::freed);
  }
  SUBCASE("the reading ends first") {
    CHECK(inner.release(set.client) == Release::still_held);
    CHECK(set.server.list({"HGETALL", "job"}) == Words{"mode", "write", "u:1:write", "1"});
    CHECK(set.ttl() > 500'000);
    CHECK(ear.heard().empty());
    CHECK(writer.release(set.client) == Release::freed);
  }
  CHECK(comes_to_be_empty(set.server));
}

TEST_CASE("holds are counted, on either side, and end in any order") {
  Setting set;
  SUBCASE("a reader's, of which the longest counts") {
    SingleServerLock outer = a_reader("u:1");
    SingleServerLock inner = a_reader("u:1", Milliseconds(600'000));
    CHECK(set.takes(outer));
    const auto lease = inner.reenter(set.client);
    REQUIRE(lease);
    CHECK(lease->count == 2);
    CHECK(set.ttl() > 500'000);
    CHECK(set.ttl(hold_key("u:1", 2)) > 500'000);
    CHECK(outer.release(set.client) == Release::still_held);
    CHECK(set.hash("u:1") == "1");
    CHECK(set.ttl() > 500'000);
    CHECK(set.ttl(hold_key("u:1", 1)) > 500'000);
    CHECK(set.ttl(hold_key("u:1", 2)) == -2);
    CHECK(inner.release(set.client) == Release::freed);
  }
  SUBCASE("the writer's") {
    SingleServerLock outer = a_writer("u:1", Milliseconds(600'000));
    SingleServerLock inner = a_writer("u:1");
    CHECK(set.takes(outer));
    const auto lease = inner.reenter(set.client);
    REQUIRE(lease);
    CHECK(lease->count == 2);
    CHECK(inner.release(set.client) == Release::still_held);
    CHECK(set.ttl() > 500'000);
    CHECK(outer.release(set.client) == Release::freed);
  }
  CHECK(comes_to_be_empty(set.server));
}

TEST_CASE("a reader cannot become the writer: it is told so, and nothing changes") {
  Setting set;
  SingleServerLock outer = a_reader("u:1");
  SingleServerLock inner = a_writer("u:1");
  CHECK(set.takes(outer));
  CHECK(test::refusal_of([&] { return inner.reenter(set.client); }) ==
        "job: a process above this one reads: a reader cannot become the writer (take the write "
        "lock first)");
  CHECK(set.server.list({"HGETALL", "job"}) == Words{"mode", "read", "u:1", "1"});
  // Who holds nothing is not refused, but has to queue up as everybody else.
  SingleServerLock stranger = a_writer("u:2");
  CHECK_FALSE(stranger.reenter(set.client));
}

TEST_CASE("a dead reader keeps nobody out, although others had prolonged the lock") {
  Setting set;
  SingleServerLock dead = a_reader("u:1");
  SingleServerLock other = a_reader("u:2", Milliseconds(600'000));
  SingleServerLock writer = a_writer("u:3");
  CHECK(set.takes(dead));
  CHECK(set.takes(other));
  set.expire(hold_key("u:1", 1));
  CHECK(lock::take_snapshot(set.client, "job").dead_readers == Words{"u:1"});
  CHECK_FALSE(set.takes(writer));
  SUBCASE("the last living reader takes it along") {
    Ear ear(set.server);
    CHECK(other.release(set.client) == Release::freed);
    CHECK(set.server.command({"EXISTS", "job"}) == "0");
    CHECK(ear.heard() == Words{"0"});
  }
  SUBCASE("when all are dead, the writer does not wait for the TTL that they leave") {
    set.expire(hold_key("u:2", 1));
  }
  CHECK(set.takes(writer));
  CHECK(set.server.list({"HGETALL", "job"}) == Words{"mode", "write", "u:3:write", "1"});
  CHECK(set.ttl() <= 30'000);
  const lock::Snapshot snapshot = lock::take_snapshot(set.client, "job");
  REQUIRE(snapshot.holders.at(0).is_told);
  CHECK(snapshot.holders[0].about.host == "web1");
  // It has lost the lock, and cannot have it back.
  CHECK(dead.renew(set.client) == Renewal::lost);
  CHECK(dead.release(set.client) == Release::not_held);
  CHECK(set.hash("u:3:write") == "1");
}

TEST_CASE("renewing prolongs one's own holds and the lock, and shortens nothing") {
  Setting set;
  SingleServerLock one = a_reader("u:1", Milliseconds(60'000));
  SingleServerLock two = a_reader("u:2", Milliseconds(600'000));
  CHECK(set.takes(one));
  CHECK(set.takes(two));
  set.server.command({"PEXPIRE", hold_key("u:1", 1), "5000"});
  CHECK(one.renew(set.client) == Renewal::renewed);
  CHECK(set.ttl(hold_key("u:1", 1)) > 55'000);
  CHECK(set.ttl() > 500'000);
  // Redisson's readers set the TTL of the lock to 30 s, whatever it was.
  set.server.command({"PEXPIRE", "job", "30000"});
  set.server.command({"PEXPIRE", hold_key("u:2", 1), "550000"});
  CHECK(two.renew(set.client) == Renewal::renewed);
  CHECK(set.ttl() > 590'000);
  // Keys that were evicted while the field stayed: nobody else can have written meanwhile.
  set.expire(hold_key("u:1", 1));
  CHECK(one.ask(set.client) == Renewal::renewed);
  CHECK(set.server.command({"EXISTS", hold_key("u:1", 1)}) ==
        "0");  // who only asks changes nothing
  CHECK(one.renew(set.client) == Renewal::renewed);
  CHECK(set.ttl(hold_key("u:1", 1)) > 55'000);
  CHECK(one.ask(set.client) == Renewal::renewed);
  CHECK(a_writer("u:1").renew(set.client) == Renewal::lost);
  CHECK(a_reader("u:9").renew(set.client) == Renewal::lost);
  CHECK(set.server.command({"HLEN", "job"}) == "3");
}

TEST_CASE("a reader renews in time before Redisson's readers cut the lock short") {
  CHECK(a_reader("u:1", Milliseconds(600'000)).renewal_interval() == Milliseconds(10'000));
  CHECK(a_reader("u:1", Milliseconds(15'000)).renewal_interval() == Milliseconds(5000));
  CHECK(a_writer("u:1", Milliseconds(600'000)).renewal_interval() == Milliseconds(200'000));
}

TEST_CASE("fencing: the writer draws tokens, and keeps his own; a reader has none") {
  Setting set;
  lock::Terms terms = Milliseconds(30'000);
  terms.fencing = lock::Fencing::on;
  CHECK_THROWS_AS(
      SingleServerLock(lock::read_write_operations("job", Kind::read), "u:1", k_about, terms),
      Error);
  SingleServerLock outer(lock::read_write_operations("job", Kind::write), "u:1", k_about, terms);
  const auto first = std::get<lock::Hold>(outer.try_acquire(set.client, lock::Join::no));
  const auto again = std::get<lock::Hold>(outer.try_acquire(set.client, lock::Join::no));
  REQUIRE(first.token);
  CHECK(first.token == again.token);
  SingleServerLock inner(lock::read_write_operations("job", Kind::write), "u:1", k_about, terms);
  CHECK(inner.reenter(set.client)->token == first.token);
  CHECK(inner.release(set.client) == Release::still_held);
  CHECK(outer.release(set.client) == Release::freed);
  SingleServerLock next(lock::read_write_operations("job", Kind::write), "u:2", k_about, terms);
  CHECK(std::get<lock::Hold>(next.try_acquire(set.client, lock::Join::no)).token > first.token);
}

TEST_CASE("a user who may not use the readers' keys leaves no lock without an end") {
  Setting set;
  set.server.command({"ACL", "SETUSER", "locker", "on", ">pw", "~job", "~r*", "&*", "+@all"});
  redis::ClientOptions options;
  options.endpoint =
      redis::parse_url("redis://locker:pw@127.0.0.1:" + std::to_string(set.server.port()));
  redis::Client client(options);
  SingleServerLock reader = a_reader("u:1");
  CHECK_THROWS_AS((void)reader.try_acquire(client, lock::Join::no), Error);
  CHECK(set.server.keys().empty());
  SingleServerLock writer = a_writer("u:1");
  CHECK(std::holds_alternative<lock::Hold>(writer.try_acquire(client, lock::Join::no)));
  CHECK_THROWS_AS((void)a_reader("u:1").reenter(client), Error);
  CHECK(set.hash("u:1") == "(nil)");
}
