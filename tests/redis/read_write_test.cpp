// acquire_read.lua, acquire_write.lua, reenter_read_write.lua, renew_read_write.lua and
// release_read_write.lua
#include "lock/kinds/read_write/read_write.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "lock/inspection/snapshot.hpp"
#include "lock/kinds/fair/fair.hpp"
#include "lock/make_lock.hpp"
#include "lock/words/refused.hpp"
#include "redis/lock_fixture.hpp"
#include "redis/refusal.hpp"
#include "support/resp.hpp"
#include "support/script_calls.hpp"

using namespace rlock;
using lock::InUse;
using lock::Kind;
using lock::Release;
using lock::Renewal;
using lock::SingleServerLock;
using test::client_of;
using test::refusal_of;
using test::Words;

namespace {

const std::string k_channel = "redisson_rwlock:{job}";
const lock::About k_about{"web1", 42, "ann", "backup"};

struct Setting {
  test::Server server;
  redis::Client client = client_of(server);

  [[nodiscard]] bool takes(SingleServerLock& lock) {
    return std::holds_alternative<lock::Hold>(lock.try_acquire(client, lock::Join::no));
  }
  [[nodiscard]] lock::Busy refusal(SingleServerLock& lock) {
    return std::get<lock::Busy>(lock.try_acquire(client, lock::Join::no));
  }
  [[nodiscard]] long ttl(const std::string& key = "job") const { return pttl(server, key); }
  [[nodiscard]] std::string hash(const std::string& field) const {
    return server.command({"HGET", "job", field});
  }
  void expire(const std::string& key) const { server.command({"DEL", key}); }
  void persist(const std::string& key) const { server.command({"PERSIST", key}); }
};

std::string hold_key(const std::string& owner, int hold) {
  return "{job}:" + owner + ":rwlock_timeout:" + std::to_string(hold);
}

SingleServerLock a_reader(const std::string& owner, Milliseconds lease = Milliseconds(30'000)) {
  return {lock::read_write_layout("job", Kind::read), owner, k_about, lease};
}

SingleServerLock a_writer(const std::string& owner, Milliseconds lease = Milliseconds(30'000)) {
  return {lock::read_write_layout("job", Kind::write), owner, k_about, lease};
}

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
  (void)refusal_of<lock::ReaderAbove>([&] { return inner.reenter(set.client); });
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

TEST_CASE("a reader whose key has no expiry lives: nobody writes beside it") {
  Setting set;
  SingleServerLock one = a_reader("u:1");
  SingleServerLock two = a_reader("u:2");
  SingleServerLock writer = a_writer("u:3");
  SUBCASE("it was taken away") {
    CHECK(set.takes(one));
    set.persist(hold_key("u:1", 1));
  }
  SUBCASE("another client made the key without one") {
    set.server.command({"HSET", "job", "mode", "read", "u:1", "1"});
    set.server.command({"PEXPIRE", "job", "30000"});
    set.server.command({"SET", hold_key("u:1", 1), "1"});
  }
  CHECK_FALSE(set.takes(writer));
  CHECK(set.hash("u:1") == "1");
  // Nor does another reader take it along, who leaves the lock as it is.
  CHECK(set.takes(two));
  set.server.command({"PEXPIRE", "job", "50000"});
  CHECK(two.release(set.client) == Release::freed);
  CHECK(set.server.list({"HGETALL", "job"}) == Words{"mode", "read", "u:1", "1"});
  CHECK(set.ttl() > 40'000);
  CHECK(set.ttl() <= 50'000);
  CHECK_FALSE(set.takes(writer));
  CHECK(one.release(set.client) == Release::freed);
  CHECK(set.takes(writer));
}

TEST_CASE("what has no expiry gets none while somebody holds a read/write lock") {
  Setting set;
  const auto has_none = [&](const std::string& key) { return set.ttl(key) == -1; };
  SUBCASE("a reader's") {
    SingleServerLock outer = a_reader("u:1");
    SingleServerLock inner = a_reader("u:1");
    SingleServerLock other = a_reader("u:2");
    CHECK(set.takes(outer));
    for (const std::string& key : {std::string("job"), hold_key("u:1", 1)}) set.persist(key);
    const auto all_last = [&] { return has_none("job") && has_none(hold_key("u:1", 1)); };
    CHECK(set.takes(outer));
    CHECK(all_last());
    CHECK(outer.renew(set.client) == Renewal::renewed);
    CHECK(all_last());
    REQUIRE(inner.reenter(set.client));
    CHECK(all_last());
    CHECK(set.ttl(hold_key("u:1", 2)) > 20'000);
    CHECK(set.takes(other));
    CHECK(other.renew(set.client) == Renewal::renewed);
    CHECK(set.ttl(hold_key("u:2", 1)) > 20'000);
    CHECK(other.release(set.client) == Release::freed);
    CHECK(all_last());
    CHECK(inner.release(set.client, Milliseconds(20'000)) == Release::still_held);
    CHECK(all_last());
    // Kept, it ends as others do.
    CHECK(outer.release(set.client) == Release::still_held);
    for (const std::string& key : {std::string("job"), hold_key("u:1", 1)}) {
      CHECK(set.ttl(key) > 10'000);
      CHECK(set.ttl(key) <= 20'000);
    }
    set.server.command({"FLUSHALL"});
  }
  SUBCASE("a reader's inner hold's: whichever ends first, the other lasts as long") {
    SingleServerLock outer = a_reader("u:1");
    CHECK(set.takes(outer));
    REQUIRE(a_reader("u:1").reenter(set.client));
    set.persist(hold_key("u:1", 2));
    CHECK(outer.release(set.client) == Release::still_held);
    CHECK(has_none(hold_key("u:1", 1)));
    CHECK(set.ttl() > 20'000);
    CHECK(a_reader("u:1").release(set.client) == Release::freed);
  }
  SUBCASE("the lock's, where a reader's keys were lost") {
    SingleServerLock outer = a_reader("u:1");
    CHECK(set.takes(outer));
    REQUIRE(a_reader("u:1").reenter(set.client));
    set.persist("job");
    for (const int hold : {1, 2}) set.expire(hold_key("u:1", hold));
    CHECK(a_reader("u:1").release(set.client) == Release::still_held);
    CHECK(set.ttl(hold_key("u:1", 1)) > 20'000);
    CHECK(has_none("job"));
    CHECK(outer.release(set.client) == Release::freed);
  }
  SUBCASE("the writer's, who reads, too") {
    SingleServerLock outer = a_writer("u:1");
    SingleServerLock inner = a_writer("u:1");
    SingleServerLock reads = a_reader("u:1");
    CHECK(set.takes(outer));
    set.persist("job");
    CHECK(outer.renew(set.client) == Renewal::renewed);
    REQUIRE(inner.reenter(set.client));
    REQUIRE(reads.reenter(set.client));
    CHECK(inner.release(set.client) == Release::still_held);
    CHECK(has_none("job"));
    CHECK(outer.release(set.client) == Release::still_held);
    CHECK(set.hash("mode") == "read");
    CHECK(has_none("job"));
    CHECK(reads.release(set.client) == Release::freed);
  }
  CHECK(comes_to_be_empty(set.server));
}

TEST_CASE("beside a reader without an end, one that is kept ends when it is to") {
  Setting set;
  SingleServerLock reads = a_reader("u:1");
  SUBCASE("the writer, who reads without an end") {
    SingleServerLock writer = a_writer("u:1");
    CHECK(set.takes(writer));
    REQUIRE(reads.reenter(set.client));
    set.persist(hold_key("u:1", 1));
    CHECK(writer.release(set.client, Milliseconds(60'000)) == Release::still_held);
    CHECK(set.hash("u:1:write") == "1");
  }
  SUBCASE("a reader") {
    SingleServerLock other = a_reader("u:2");
    CHECK(set.takes(reads));
    CHECK(set.takes(other));
    set.persist(hold_key("u:1", 1));
    CHECK(other.release(set.client, Milliseconds(60'000)) == Release::still_held);
    CHECK(set.ttl(hold_key("u:2", 1)) <= 60'000);
    CHECK(set.ttl(hold_key("u:2", 1)) > 50'000);
  }
  CHECK(set.ttl() <= 60'000);
  CHECK(set.ttl() > 50'000);
  CHECK(set.ttl("rlock_info:{job}") > 50'000);
  CHECK(set.ttl(hold_key("u:1", 1)) == -1);
}

TEST_CASE("without memory to spare, a read/write lock without an expiry is renewed and released") {
  Setting set;
  SingleServerLock reader = a_reader("u:1");
  SingleServerLock other = a_reader("u:2");
  SingleServerLock inner = a_reader("u:2");
  CHECK(set.takes(reader));
  CHECK(set.takes(other));
  REQUIRE(inner.reenter(set.client));
  set.persist("job");
  set.persist(hold_key("u:1", 1));
  set.expire(hold_key("u:2", 1));
  set.expire(hold_key("u:2", 2));
  set.server.command({"CONFIG", "SET", "maxmemory", "1"});
  for (const auto* lock : {&reader, &other}) CHECK(lock->renew(set.client) == Renewal::renewed);
  CHECK(set.ttl(hold_key("u:2", 2)) > 20'000);
  CHECK(inner.release(set.client, Milliseconds(20'000)) == Release::still_held);
  CHECK(reader.release(set.client, Milliseconds(20'000)) == Release::still_held);
  CHECK(set.ttl(hold_key("u:1", 1)) <= 20'000);
}

TEST_CASE("a reader renews in time before Redisson's readers cut the lock short") {
  CHECK(a_reader("u:1", Milliseconds(600'000)).renewal_interval() == Milliseconds(10'000));
  CHECK(a_reader("u:1", Milliseconds(15'000)).renewal_interval() == Milliseconds(5000));
  CHECK(a_writer("u:1", Milliseconds(600'000)).renewal_interval() == Milliseconds(200'000));
}

TEST_CASE("kept for a while, a hold ends by its TTL, and others' as before") {
  Setting set;
  SUBCASE("of a reader who is alone") {
    SingleServerLock one = a_reader("u:1", Milliseconds(600'000));
    CHECK(set.takes(one));
    CHECK(one.release(set.client, Milliseconds(60'000)) == Release::still_held);
    CHECK(set.ttl() <= 60'000);
    CHECK(set.ttl() > 50'000);
    CHECK(set.ttl(hold_key("u:1", 1)) > 50'000);
    CHECK(set.ttl("rlock_info:{job}") <= 60'000);
  }
  SUBCASE("of a reader among others") {
    SingleServerLock one = a_reader("u:1");
    SingleServerLock two = a_reader("u:2", Milliseconds(600'000));
    CHECK(set.takes(one));
    CHECK(set.takes(two));
    CHECK(one.release(set.client, Milliseconds(60'000)) == Release::still_held);
    CHECK(set.ttl() > 500'000);
    CHECK(set.ttl(hold_key("u:1", 1)) > 50'000);
    CHECK(two.release(set.client) == Release::freed);
    CHECK(set.ttl() <= 60'000);
    CHECK(set.ttl() > 50'000);
  }
  SUBCASE("of the writer") {
    SingleServerLock one = a_writer("u:1");
    CHECK(set.takes(one));
    CHECK(one.release(set.client, Milliseconds(60'000)) == Release::still_held);
    CHECK(set.ttl() > 50'000);
  }
  SUBCASE("of the writer's inner run") {
    SingleServerLock outer = a_writer("u:1");
    SingleServerLock inner = a_writer("u:1");
    CHECK(set.takes(outer));
    REQUIRE(inner.reenter(set.client));
    CHECK(inner.release(set.client, Milliseconds(60'000)) == Release::still_held);
    CHECK(outer.release(set.client) == Release::still_held);
    CHECK(set.ttl() <= 60'000);
    CHECK(set.ttl() > 50'000);
  }
  CHECK_FALSE([&] {
    SingleServerLock other = a_writer("u:7");
    return set.takes(other);
  }());
  CHECK(lock::take_snapshot(set.client, "job").holders[0].about.process.empty());
}

TEST_CASE("S6: requests that are sent again count once, and none after the release") {
  Setting set;
  const std::string latch = "redisson_unlock_latch:{job}:a";
  using Side = decltype(lua::release_read_write::Call::side);
  const lock::KeyNames& keys = test::k_job;
  const auto reenter = [&](Side side) {
    const lua::reenter_read_write::Call call{.lock = keys.lock,
                                             .latch = keys.latch("a"),
                                             .info = keys.info,
                                             .token = std::nullopt,
                                             .lease = Milliseconds(30'000),
                                             .owner = "u:1",
                                             .memory = Milliseconds(30'000),
                                             .fencing = "off",
                                             .prefix = keys.reader_prefix,
                                             .side = side};
    return set.client.run(call).as_array(1)[0].as_integer();
  };
  const auto release = [&](Side side) {
    const lua::release_read_write::Call call{.lock = keys.lock,
                                             .channel = keys.read_write_channel,
                                             .info = keys.info,
                                             .latch = keys.latch("a"),
                                             .owner = "u:1",
                                             .memory = Milliseconds(30'000),
                                             .keep = Milliseconds(0),
                                             .prefix = keys.reader_prefix,
                                             .standing = "unproven",
                                             .side = side,
                                             .is_shared = false};
    return set.client.run(call).as_array(1)[0].as_integer();
  };
  SUBCASE("a reader's") {
    SingleServerLock outer = a_reader("u:1");
    for (int i = 0; i < 2; ++i) CHECK(set.takes(outer));
    CHECK(set.hash("u:1") == "1");
    for (int i = 0; i < 2; ++i) CHECK(reenter("read") == 1);
    CHECK(set.hash("u:1") == "2");
    for (int i = 0; i < 2; ++i) CHECK(release("read") == 0);
    CHECK(set.hash("u:1") == "1");
    CHECK(reenter("read") == 2);
    CHECK(set.hash("u:1") == "1");
  }
  SUBCASE("the writer's") {
    SingleServerLock outer = a_writer("u:1");
    for (int i = 0; i < 2; ++i) CHECK(set.takes(outer));
    CHECK(set.hash("u:1:write") == "1");
    for (int i = 0; i < 2; ++i) CHECK(reenter("write") == 1);
    CHECK(set.hash("u:1:write") == "2");
    for (int i = 0; i < 2; ++i) CHECK(release("write") == 0);
    CHECK(set.hash("u:1:write") == "1");
    CHECK(reenter("write") == 2);
  }
  SUBCASE("one that never came") {
    SingleServerLock outer = a_reader("u:1");
    CHECK(set.takes(outer));
    CHECK(release("read") == 2);
    CHECK(set.hash("u:1") == "1");
  }
  SUBCASE("a late one to take the lock") {
    const lua::acquire_read::Call read{.lock = keys.lock,
                                       .info = keys.info,
                                       .latch = keys.latch("a"),
                                       .lease = Milliseconds(30'000),
                                       .owner = "u:1",
                                       .about_json = "",
                                       .prefix = keys.reader_prefix};
    const lua::acquire_write::Call write{.lock = keys.lock,
                                         .info = keys.info,
                                         .latch = keys.latch("a"),
                                         .token = std::nullopt,
                                         .lease = Milliseconds(30'000),
                                         .owner = "u:1",
                                         .about_json = "",
                                         .fencing = "off",
                                         .prefix = keys.reader_prefix};
    for (const redis::ScriptCall& call : {redis::ScriptCall(read), redis::ScriptCall(write)}) {
      set.server.command({"SET", latch, "1"});
      const auto reply = set.client.run(call);
      CHECK(reply.as_array(1)[0].as_integer() == 2);
      CHECK(set.server.keys() == Words{latch});
    }
  }
}

TEST_CASE("a name that is in use by another kind of lock is refused, both ways") {
  Setting set;
  SingleServerLock reader = a_reader("u:1");
  SingleServerLock writer = a_writer("u:1");
  const std::vector<Words> makers = {{"HSET", "job", "u:1", "1"},
                                     {"HSET", "job", "mode", "fast", "u:1", "1"},
                                     {"SET", "job", "u:1"},
                                     {"RPUSH", "job", "u:1"}};
  for (const Words& maker : makers) {
    CAPTURE(maker[0]);
    set.server.command({"DEL", "job"});
    set.server.command(maker);
    const std::string before = set.server.command({"DUMP", "job"});
    CHECK_THROWS_AS((void)set.takes(reader), Error);
    CHECK_THROWS_AS((void)set.takes(writer), Error);
    if (maker[2] != "mode") {
      CHECK_FALSE(reader.reenter(set.client));
      CHECK_FALSE(writer.reenter(set.client));
      CHECK(reader.renew(set.client) == Renewal::lost);
      CHECK(reader.release(set.client) == Release::not_held);
      CHECK(writer.release(set.client) == Release::not_held);
    }
    CHECK(set.server.command({"DUMP", "job"}) == before);
  }
  set.server.command({"DEL", "job"});
  SingleServerLock outer = a_reader("u:2");
  CHECK(set.takes(outer));
  lock::SingleServerLock plain = test::make_lock("u:2");
  CHECK_FALSE(plain.reenter(set.client));
  CHECK_THROWS_AS((void)plain.try_acquire(set.client, lock::Join::no), Error);
  CHECK(set.hash("u:2") == "1");
}

TEST_CASE("an application's hash with a field mode is no lock: it is refused, and stays as it is") {
  Setting set;
  SingleServerLock locks[] = {
      a_reader("u:1"),
      a_writer("u:1"),
      test::make_lock("u:1"),
      {lock::fair_layout("job", lua::k_our_wait), "u:1", k_about, Milliseconds(30'000)}};
  const std::vector<Words> makers = {
      {"HSET", "job", "mode", "read", "path", "/srv/data", "retries", "5"},
      {"HSET", "job", "mode", "write", "path", "/srv/data", "retries", "5"},
      {"HSET", "job", "mode", "read"},
      {"HSET", "job", "mode", "read", "a:1", "text"},
      {"HSET", "job", "mode", "read", "a:1", "1", "count", "2"},
      {"HSET", "job", "mode", "fast", "a:1", "1"},
      {"HSET", "job", "path", "/srv/data"}};
  for (const Words& maker : makers) {
    CAPTURE(maker.back());
    set.server.command({"DEL", "job"});
    set.server.command(maker);
    const std::string before = set.server.command({"DUMP", "job"});
    for (SingleServerLock& lock : locks) {
      const auto refusal = refusal_of<InUse>([&] { return set.takes(lock); });
      CHECK(refusal.found == "hash that is no lock");
      CHECK(lock.release(set.client) == Release::not_held);
      CHECK(set.server.command({"DUMP", "job"}) == before);
    }
  }
  set.server.command({"DEL", "job"});
  // Nor is a field without a colon a hold, whoever says that it is the owner.
  set.server.command({"HSET", "job", "mode", "read", "name", "5", "name:write", "1"});
  set.server.command({"PEXPIRE", "job", "10000"});
  for (const char* mode : {"read", "write"}) {
    set.server.command({"HSET", "job", "mode", mode});
    const std::string before = set.server.command({"DUMP", "job"});
    SingleServerLock sides[] = {a_reader("name"), a_writer("name")};
    for (SingleServerLock& lock : sides) {
      CHECK(lock.release(set.client) == Release::not_held);
      CHECK(lock.renew(set.client) == Renewal::lost);
      CHECK_FALSE(lock.reenter(set.client));
      CHECK(set.server.command({"DUMP", "job"}) == before);
      CHECK(set.ttl() <= 10'000);
    }
  }
  set.server.command({"DEL", "job"});
  // Nor is a huge one, which is not looked through.
  set.server.command({"EVAL",
                      "redis.call('hset', 'job', 'mode', 'read') "
                      "for i = 1, 10000 do redis.call('hset', 'job', 'a:' .. i, 1) end",
                      "0"});
  for (SingleServerLock& lock : locks) CHECK_THROWS_AS((void)set.takes(lock), lock::Refused);
  CHECK(set.server.command({"HLEN", "job"}) == "10001");
}

TEST_CASE("what has a mode and owners is a read/write lock, also with many readers or our own") {
  Setting set;
  SingleServerLock reader = a_reader("u:1");
  SingleServerLock writer = a_writer("u:1");
  SingleServerLock plain = test::make_lock("u:1");
  set.server.command({"HSET", "job", "a:1", "1"});
  for (SingleServerLock* lock : {&reader, &writer}) {
    const auto refusal = refusal_of<InUse>([&] { return set.takes(*lock); });
    CHECK(refusal.found == "plain or fair lock");
  }
  set.server.command({"DEL", "job"});
  set.server.command({"EVAL",
                      "redis.call('hset', 'job', 'mode', 'read') "
                      "for i = 1, 300 do redis.call('hset', 'job', 'a:' .. i, 1) "
                      "redis.call('set', '{job}:a:' .. i .. ':rwlock_timeout:1', 1) end",
                      "0"});
  CHECK_FALSE(set.takes(writer));
  CHECK(set.takes(reader));
  CHECK(refusal_of<InUse>([&] { return set.takes(plain); }).found == "read-write lock");
  // Whoever holds it already is not kept from it by what others put there.
  set.server.command({"DEL", "job"});
  CHECK(set.takes(reader));
  set.server.command({"HSET", "job", "path", "/srv/data"});
  CHECK(set.takes(reader));
  CHECK(reader.renew(set.client) == Renewal::renewed);
  SingleServerLock other = a_reader("u:2");
  CHECK_THROWS_AS((void)set.takes(other), lock::Refused);
  CHECK(reader.release(set.client) == Release::freed);
}

TEST_CASE("fencing: the writer draws tokens, and keeps his own; a reader has none") {
  Setting set;
  lock::Terms terms = Milliseconds(30'000);
  terms.fencing = lock::Fencing::on;
  CHECK_THROWS_AS(
      SingleServerLock(lock::read_write_layout("job", Kind::read), "u:1", k_about, terms), Error);
  SingleServerLock outer(lock::read_write_layout("job", Kind::write), "u:1", k_about, terms);
  const auto first = std::get<lock::Hold>(outer.try_acquire(set.client, lock::Join::no));
  const auto again = std::get<lock::Hold>(outer.try_acquire(set.client, lock::Join::no));
  REQUIRE(first.token);
  CHECK(first.token == again.token);
  SingleServerLock inner(lock::read_write_layout("job", Kind::write), "u:1", k_about, terms);
  CHECK(inner.reenter(set.client)->token == first.token);
  CHECK(inner.release(set.client) == Release::still_held);
  CHECK(outer.release(set.client) == Release::freed);
  SingleServerLock next(lock::read_write_layout("job", Kind::write), "u:2", k_about, terms);
  CHECK(std::get<lock::Hold>(next.try_acquire(set.client, lock::Join::no)).token > first.token);
}

TEST_CASE("who knows only the owner learns which side he has; the hash's field means the same") {
  Setting set;
  redis::ClientOptions options;
  options.endpoint = redis::parse_url(set.server.unix_url());
  lock::Session session(options);
  SingleServerLock writer = a_writer("u:1");
  CHECK(set.takes(writer));
  CHECK(lock::held_kind(session, "job", "u:1") == Kind::write);
  CHECK(lock::held_kind(session, "job", "u:1:write") == Kind::write);
  CHECK(a_writer("u:1:write").renew(set.client) == Renewal::renewed);
  REQUIRE(a_reader("u:1:write").reenter(set.client));
  CHECK(set.hash("u:1") == "1");
  CHECK(a_writer("u:1:write").release(set.client) == Release::still_held);
  CHECK(lock::held_kind(session, "job", "u:1") == Kind::read);
  CHECK(a_reader("u:1").release(set.client) == Release::freed);
  CHECK(set.server.command({"EXISTS", "job"}) == "0");
}

TEST_CASE(
    "a server without memory to spare takes no new lock, and renews and releases the others") {
  Setting set;
  SingleServerLock reader = a_reader("u:1");
  SingleServerLock other = a_reader("u:2");
  CHECK(set.takes(reader));
  CHECK(set.takes(other));
  set.server.command({"CONFIG", "SET", "maxmemory", "1"});
  CHECK(reader.renew(set.client) == Renewal::renewed);
  SingleServerLock third = a_reader("u:3");
  CHECK_THROWS_AS((void)set.takes(third), Error);
  CHECK(set.server.command({"HLEN", "job"}) == "3");
  CHECK(reader.release(set.client, Milliseconds(20'000)) == Release::still_held);
  CHECK(other.release(set.client) == Release::freed);
  set.server.command({"DEL", "job"});
  SingleServerLock writer = a_writer("u:4");
  set.server.command({"CONFIG", "SET", "maxmemory", "0"});
  CHECK(set.takes(writer));
  REQUIRE(a_reader("u:4").reenter(set.client));
  REQUIRE(a_reader("u:4").reenter(set.client));
  set.server.command({"CONFIG", "SET", "maxmemory", "1"});
  CHECK(writer.renew(set.client) == Renewal::renewed);
  CHECK(writer.release(set.client) == Release::still_held);
  CHECK(set.hash("mode") == "read");
  CHECK(a_reader("u:4").release(set.client) == Release::still_held);
  CHECK(a_reader("u:4").release(set.client) == Release::freed);
  CHECK(set.server.command({"EXISTS", "job"}) == "0");
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
