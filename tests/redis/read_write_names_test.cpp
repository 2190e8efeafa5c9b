// What is a read/write lock, and what is none.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "lock/kinds/fair.hpp"
#include "lock/make_lock.hpp"
#include "redis/lock_fixture.hpp"
#include "redis/read_write_fixture.hpp"
#include "redis/refusal.hpp"
#include "support/resp.hpp"

using namespace rlock;
using namespace rlock::test::read_write;
using lock::Kind;
using lock::Release;
using lock::Renewal;
using lock::SingleServerLock;
using test::refusal_of;
using test::Words;

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
      {lock::fair_operations("job", lua::k_our_wait), "u:1", k_about, Milliseconds(30'000)}};
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
      CHECK(refusal_of([&] { return set.takes(lock); }) == "job: a hash that is not a lock");
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
  for (SingleServerLock& lock : locks) CHECK_THROWS_AS((void)set.takes(lock), Error);
  CHECK(set.server.command({"HLEN", "job"}) == "10001");
}

TEST_CASE("what has a mode and owners is a read/write lock, also with many readers or our own") {
  Setting set;
  SingleServerLock reader = a_reader("u:1");
  SingleServerLock writer = a_writer("u:1");
  SingleServerLock plain = test::make_lock("u:1");
  set.server.command({"HSET", "job", "a:1", "1"});
  for (SingleServerLock* lock : {&reader, &writer}) {
    CHECK(
        test::has(refusal_of([&] { return set.takes(*lock); }), "in use as a plain or fair lock"));
  }
  set.server.command({"DEL", "job"});
  set.server.command({"EVAL",
                      "redis.call('hset', 'job', 'mode', 'read') "
                      "for i = 1, 300 do redis.call('hset', 'job', 'a:' .. i, 1) "
                      "redis.call('set', '{job}:a:' .. i .. ':rwlock_timeout:1', 1) end",
                      "0"});
  CHECK_FALSE(set.takes(writer));
  CHECK(set.takes(reader));
  CHECK(test::has(refusal_of([&] { return set.takes(plain); }), "in use as a read/write lock"));
  // Whoever holds it already is not kept from it by what others put there.
  set.server.command({"DEL", "job"});
  CHECK(set.takes(reader));
  set.server.command({"HSET", "job", "path", "/srv/data"});
  CHECK(set.takes(reader));
  CHECK(reader.renew(set.client) == Renewal::renewed);
  SingleServerLock other = a_reader("u:2");
  CHECK_THROWS_AS((void)set.takes(other), Error);
  CHECK(reader.release(set.client) == Release::freed);
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
