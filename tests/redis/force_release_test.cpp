// force_release.lua
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "redis/lock_fixture.hpp"
#include "redis/refusal.hpp"
#include "support/fair_lock.hpp"
#include "support/resp.hpp"
#include "support/script_calls.hpp"
#include "support/words.hpp"

using namespace rlock;
using lock::ForceRelease;
using lock::ForceReleaseTarget;
using test::breaks;
using test::client_of;
using test::has;
using test::k_channel;
using test::k_info;
using test::Words;

namespace {

const std::string k_rw_channel = "redisson_rwlock:{job}";

struct Fixture {
  test::Server server;
  redis::Client client = client_of(server);

  [[nodiscard]] bool is_empty() const { return comes_to_be_empty(server); }
};

// Who listens on a channel, and what has come.
class Listener {
 public:
  Listener(const test::Server& server, const std::string& channel) : connection_(server.connect()) {
    connection_.call({"SUBSCRIBE", channel});
  }
  Words messages() {
    Words found;
    while (true) {
      const Words reply = connection_.call({"PING", std::to_string(pings_)});
      if (reply[0] == "message") found.push_back(reply[2]);
      // Each message takes the place of an answer, which comes later.
      if (reply[0] == "pong" && reply[1] == std::to_string(pings_)) break;
      if (reply[0] == "pong") continue;
      ++pings_;
    }
    ++pings_;
    return found;
  }

 private:
  test::RespClient connection_;
  int pings_ = 0;
};

}  // namespace

TEST_CASE("force_release: a hold count that does not fit counts as one") {
  Fixture f;
  f.server.command({"HSET", "job", "u:1", "99999999999999999999"});
  CHECK(lock::look_at(f.client, "job", ForceReleaseTarget::hash).holders.at(0).count == 1);
}

TEST_CASE("force_release: breaks the lock, tells the waiters, and who held it and since when") {
  Fixture f;
  Listener listener(f.server, k_channel);
  f.server.command({"HSET", "job", "u:1", "7"});
  f.server.command({"HSET", k_info, "u:1",
                    R"({"host":"web1","pid":42,"user":"ann","command":"backup","since":1000})"});
  const ForceRelease result = lock::break_lock(f.client, "job", ForceReleaseTarget::lock);
  CHECK(result.outcome == ForceRelease::Outcome::broken);
  REQUIRE(result.found.holders.size() == 1);
  const lock::Holder& holder = result.found.holders[0];
  CHECK(holder.owner == "u:1");
  CHECK(holder.count == 7);
  REQUIRE(holder.is_told);
  CHECK(holder.about.host == "web1");
  CHECK(holder.about.pid == 42);
  CHECK(holder.about.user == "ann");
  CHECK(holder.about.command == "backup");
  CHECK(holder.since_ms == 1000);
  CHECK(result.found.ttl_ms == -1);
  CHECK(result.found.listening == 1);
  CHECK(listener.messages() == Words{"0"});
  CHECK(f.is_empty());
}

TEST_CASE("force_release: only looks") {
  Fixture f;
  Listener listener(f.server, k_channel);
  f.server.command({"HSET", "job", "u:1", "1"});
  f.server.command({"PEXPIRE", "job", "60000"});
  f.server.command({"RPUSH", test::k_queue, "r:1", "r:2"});
  const std::string before = f.server.command({"DUMP", "job"});
  const lock::FoundLock found = lock::look_at(f.client, "job", ForceReleaseTarget::hash);
  CHECK(found.holders.size() == 1);
  CHECK(found.queued == 2);
  CHECK(found.ttl_ms > 0);
  CHECK(f.server.command({"DUMP", "job"}) == before);
  CHECK(listener.messages().empty());
}

TEST_CASE("force_release: of a free lock says so, and wakes the waiters of every kind") {
  Fixture f;
  Listener plain(f.server, k_channel);
  Listener fair(f.server, k_channel + ":r:1");
  Listener rw(f.server, k_rw_channel);
  Listener semaphore(f.server, "redisson_sc:{job}");
  f.server.command({"RPUSH", test::k_queue, "r:1"});
  f.server.command({"ZADD", test::k_scores, "9999999999999", "r:1"});
  const ForceRelease result = lock::break_lock(f.client, "job", ForceReleaseTarget::lock);
  CHECK(result.outcome == ForceRelease::Outcome::free);
  CHECK(result.found.queued == 1);
  CHECK(result.found.listening == 3);
  CHECK(semaphore.messages() == Words{"1"});
  CHECK(plain.messages() == Words{"0"});
  CHECK(fair.messages() == Words{"0"});
  CHECK(rw.messages() == Words{"1", "0"});
  // Being reminded gives a head that does not come no more time.
  const std::string called = f.server.command({"HGET", k_info, "called"});
  CHECK(has(called, "r:1"));
  CHECK(breaks(f.client).empty());
  CHECK(fair.messages() == Words{"0"});
  CHECK(f.server.command({"HGET", k_info, "called"}) == called);
}

TEST_CASE("force_release: of a free lock without waiters leaves nothing") {
  Fixture f;
  CHECK(breaks(f.client).empty());
  CHECK(f.is_empty());
}

TEST_CASE("force_release: breaks a read/write lock, its readers' timeouts, and wakes its waiters") {
  Fixture f;
  Listener plain(f.server, k_channel);
  Listener rw(f.server, k_rw_channel);
  SUBCASE("held by readers") {
    f.server.command({"HSET", "job", "mode", "read", "a:1", "2", "b:1", "1"});
    for (const char* key : {"{job}:a:1:rwlock_timeout:1", "{job}:a:1:rwlock_timeout:2",
                            "{job}:b:1:rwlock_timeout:1"}) {
      f.server.command({"SET", key, "1"});
    }
    const ForceRelease result = lock::break_lock(f.client, "job", ForceReleaseTarget::hash);
    REQUIRE(result.found.holders.size() == 2);
    for (const lock::Holder& holder : result.found.holders) {
      CHECK(holder.mode == lock::Holder::Mode::read);
    }
  }
  SUBCASE("held a thousand times") {
    f.server.command({"HSET", "job", "mode", "read", "a:1", "1000"});
    f.server.command({"SET", "{job}:a:1:rwlock_timeout:1000", "1"});
    CHECK(breaks(f.client, ForceReleaseTarget::hash) == Words{"a:1"});
  }
  SUBCASE("held by a writer, who reads, too") {
    f.server.command({"HSET", "job", "mode", "write", "a:1:write", "1", "a:1", "1"});
    f.server.command({"SET", "{job}:a:1:rwlock_timeout:1", "1"});
    const ForceRelease result = lock::break_lock(f.client, "job", ForceReleaseTarget::hash);
    REQUIRE(result.found.holders.size() == 2);
    CHECK(result.found.holders[0].mode == lock::Holder::Mode::write);
  }
  CHECK(rw.messages() == Words{"1", "0"});
  CHECK(plain.messages() == Words{"0"});
  CHECK(f.is_empty());
}

TEST_CASE("force_release: a name with a brace has its readers' timeouts under Redisson's names") {
  Fixture f;
  f.server.command({"HSET", "{t}:job", "mode", "read", "a:1", "1"});
  f.server.command({"SET", "{t}:job:a:1:rwlock_timeout:1", "1"});
  CHECK(lock::break_lock(f.client, "{t}:job", ForceReleaseTarget::hash).outcome ==
        ForceRelease::Outcome::broken);
  CHECK(f.is_empty());
}

TEST_CASE("force_release: breaks a string only where it is said to be a lock") {
  Fixture f;
  f.server.command({"SET", "job", "token-1"});
  CHECK(test::refusal_of([&] { return breaks(f.client); }) ==
        "job: the name is in use by something else (string): if it is a lock, and no semaphore "
        "that nobody holds, --kind simple breaks it");
  CHECK(f.server.command({"GET", "job"}) == "token-1");
  CHECK(breaks(f.client, ForceReleaseTarget::simple) == Words{"token-1"});
  CHECK(f.is_empty());
}

TEST_CASE("force_release: tells whose a string of rlock's is") {
  Fixture f;
  f.server.command({"SET", "job", "u:1"});
  f.server.command({"HSET", k_info, "u:1", R"({"host":"web1","pid":42})"});
  const lock::FoundLock found = lock::look_at(f.client, "job", ForceReleaseTarget::simple);
  REQUIRE(found.holders.size() == 1);
  REQUIRE(found.holders[0].is_told);
  CHECK(found.holders[0].about.host == "web1");
  CHECK(found.ambiguity == lock::Ambiguity::none);
}

TEST_CASE("force_release: of a long string it tells the start") {
  Fixture f;
  f.server.command({"SET", "job", std::string(5000, 'x')});
  CHECK(breaks(f.client, ForceReleaseTarget::simple) == Words{std::string(1024, 'x')});
  CHECK(f.is_empty());
}

TEST_CASE("force_release: leaves alone what is no lock") {
  Fixture f;
  const std::vector<Words> makers = {
      {"RPUSH", "job", "a:1"},        {"SADD", "job", "a:1"},
      {"HSET", "job", "name", "x"},   {"HSET", "job", "a:1", "1", "count", "2"},
      {"HSET", "job", "a:1", "text"}, {"HSET", "job", "mode", "fast", "a:1", "1"},
      {"HSET", "job", "mode", "read"}};
  for (const Words& maker : makers) {
    f.server.command({"DEL", "job"});
    f.server.command(maker);
    const std::string before = f.server.command({"DUMP", "job"});
    for (const ForceReleaseTarget what : {ForceReleaseTarget::lock, ForceReleaseTarget::simple}) {
      CHECK_THROWS_AS(breaks(f.client, what), Error);
      CHECK(f.server.command({"DUMP", "job"}) == before);
    }
  }
  CHECK(f.server.keys() == Words{"job"});
}

TEST_CASE("force_release: breaks a hash without owners of rlock or Redisson only as a hash") {
  Fixture f;
  f.server.command({"HSET", "job", "2026:11", "4711"});
  CHECK(test::has(test::refusal_of([&] { return breaks(f.client); }),
                  "unlock --force --kind hash breaks it"));
  // Also if somebody names the owner.
  CHECK_THROWS_AS(
      (void)lock::break_lock(f.client, "job", ForceReleaseTarget::lock, Words{"2026:11"}), Error);
  CHECK_THROWS_AS((void)lock::look_at(f.client, "job", ForceReleaseTarget::lock), Error);
  CHECK(f.server.command({"HGET", "job", "2026:11"}) == "4711");
  CHECK(breaks(f.client, ForceReleaseTarget::hash) == Words{"2026:11"});
  CHECK(f.is_empty());
}

TEST_CASE("force_release: breaks only what was expected") {
  Fixture f;
  f.server.command({"HSET", "job", "mode", "read", "a:1", "1", "b:1", "1"});
  const auto outcome = [&](const Words& expected) {
    return lock::break_lock(f.client, "job", ForceReleaseTarget::hash, expected).outcome;
  };
  CHECK(outcome({"a:1"}) == ForceRelease::Outcome::held_by_others);
  CHECK(outcome({}) == ForceRelease::Outcome::held_by_others);
  CHECK(f.server.command({"HLEN", "job"}) == "3");
  CHECK(outcome({"a:1", "b:1", "c:1"}) == ForceRelease::Outcome::broken);
  CHECK(outcome({"a:1"}) == ForceRelease::Outcome::free);
  CHECK(f.is_empty());
}

TEST_CASE("force_release: works when the server is out of memory") {
  Fixture f;
  f.server.command({"HSET", "job", "u:1", "1"});
  f.server.command({"CONFIG", "SET", "maxmemory", "1"});
  CHECK(breaks(f.client, ForceReleaseTarget::hash) == Words{"u:1"});
  CHECK(breaks(f.client, ForceReleaseTarget::hash).empty());
  CHECK(f.is_empty());
}

TEST_CASE("S6: force_release sent again answers the same, and breaks no other's lock" *
          doctest::test_suite("S6")) {
  Fixture f;
  const lock::KeyNames& keys = test::k_job;
  const lua::force_release::Call call{.lock = keys.lock,
                                      .channel = keys.channel,
                                      .info = keys.info,
                                      .latch = keys.latch("a"),
                                      .queue = keys.queue,
                                      .scores = keys.scores,
                                      .rw_channel = keys.read_write_channel,
                                      .memory = Milliseconds(30'000),
                                      .prefix = keys.reader_prefix,
                                      .semaphore_channel = keys.semaphore_channel,
                                      .kind = "lock",
                                      .task = "only",
                                      .expected = {"u:1\xff"}};
  SUBCASE("that was held") { f.server.command({"HSET", "job", "u:1\xff", "1"}); }
  SUBCASE("that was free") {}
  const auto request = [&] {
    return std::get<lua::breaking::Found>(lua::breaking::read(f.client.run(call)));
  };
  const auto first = request();
  // The same owner again: Redisson's threads keep theirs.
  f.server.command({"HSET", "job", "u:1\xff", "1"});
  const auto second = request();
  CHECK(second.outcome == first.outcome);
  CHECK(second.now == first.now);
  REQUIRE(second.holders.size() == first.holders.size());
  if (!first.holders.empty()) {
    CHECK(second.holders[0].as_text() == "u:1\xff");
  }
  CHECK(f.server.list({"HGETALL", "job"}) == Words{"u:1\xff", "1"});
}
