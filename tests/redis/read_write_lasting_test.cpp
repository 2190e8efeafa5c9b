// Read/write locks that last: without an expiry, or kept for a while.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "lock/inspection/snapshot.hpp"
#include "redis/read_write_fixture.hpp"

using namespace rlock;
using namespace rlock::test::read_write;
using lock::Release;
using lock::Renewal;
using lock::SingleServerLock;
using test::Words;

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
  CHECK(comes_to_be_empty(set.server));
}

TEST_CASE("what has no expiry gets none while its writer writes, or only reads") {
  Setting set;
  SingleServerLock outer = a_writer("u:1");
  SingleServerLock inner = a_writer("u:1");
  SingleServerLock reads = a_reader("u:1");
  CHECK(set.takes(outer));
  set.persist("job");
  CHECK(outer.renew(set.client) == Renewal::renewed);
  REQUIRE(inner.reenter(set.client));
  REQUIRE(reads.reenter(set.client));
  CHECK(inner.release(set.client) == Release::still_held);
  CHECK(set.ttl() == -1);
  CHECK(outer.release(set.client) == Release::still_held);
  CHECK(set.hash("mode") == "read");
  CHECK(set.ttl() == -1);
  CHECK(reads.release(set.client) == Release::freed);
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
