// R3: fair locks where the user lacks a right that the queue needs.
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "redis/fair_fixture.hpp"
#include "support/fair_lock.hpp"

using namespace rlock;
using lock::SingleServerLock;
using test::k_info;
using test::k_queue;
using test::k_scores;
using test::Peer;
using test::queue;
using test::Words;

namespace {

using Fixture = test::FairFixture;

// A client whose user may do everything but this.
redis::Client client_without(const Fixture& f, const std::string& command) {
  f.server.command(
      {"ACL", "SETUSER", "locker", "on", "nopass", "~*", "&*", "+@all", "-" + command});
  redis::ClientOptions options = f.client.options();
  options.endpoint.credentials = {"locker", "any"};
  return redis::Client(options);
}

}  // namespace

TEST_CASE("R3: who may not look at the deadlines takes the head for one that lives, and waits" *
          doctest::test_suite("R3")) {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  f.line_up({"u:1", "u:2"});
  test::make_overdue(f.server, "u:1");
  f.expire();
  redis::Client client = client_without(f, "zmscore");
  const auto answer = f.locks[2].try_acquire(client, lock::Join::yes);
  REQUIRE(std::holds_alternative<lock::Busy>(answer));
  CHECK(std::get<lock::Busy>(answer).place == 1);
  CHECK(queue(f.server) == Words{"u:1", "u:2"});
}

TEST_CASE("R3: who may not drop the dead waits behind them, until somebody does who may" *
          doctest::test_suite("R3")) {
  Fixture f;
  REQUIRE(f.asks(f.make("u:0")));
  f.line_up({"u:1", "u:2"});
  test::make_overdue(f.server, "u:1");
  redis::Client client = client_without(f, "ltrim");
  const auto busy = [&](SingleServerLock& lock, lock::Join join) {
    auto answer = lock.try_acquire(client, join);
    REQUIRE(std::holds_alternative<lock::Busy>(answer));
    return std::get<lock::Busy>(answer);
  };
  SUBCASE("who waits") {
    f.expire();
    const lock::Busy answer = busy(f.locks[2], lock::Join::yes);
    CHECK(answer.place == 1);
    CHECK(answer.ask_after == Milliseconds(5'010));
  }
  SUBCASE("who does not wait") {
    f.expire();
    CHECK_FALSE(busy(f.make("u:3"), lock::Join::no).ask_after);
  }
  SUBCASE("who releases") { CHECK(f.locks[0].release(client) == lock::Release::freed); }
  SUBCASE("but the head itself comes in time") {
    f.expire();
    CHECK(std::holds_alternative<lock::Hold>(f.locks[1].try_acquire(client, lock::Join::yes)));
    CHECK(queue(f.server) == Words{"u:2"});
    return;
  }
  CHECK(queue(f.server) == Words{"u:1", "u:2"});
  CHECK(f.server.command({"HEXISTS", k_info, "u:1"}) == "1");
  CHECK(f.asks(f.locks[2]));
}

TEST_CASE("R3: who may not look at the queue leaves it and its deadlines as they are" *
          doctest::test_suite("R3")) {
  Fixture f;
  f.hold_by_other();
  f.line_up({"u:1", "u:2"});
  f.expire();
  redis::Client client = client_without(f, "lrange");
  try {
    (void)f.make("u:3").try_acquire(client, lock::Join::no);
  } catch (const Error& error) {
    CHECK(error.status() == ExitStatus::permission);
  }
  CHECK(queue(f.server) == Words{"u:1", "u:2"});
  CHECK(f.server.command({"ZCARD", k_scores}) == "2");
}

TEST_CASE("R3: who may not say that it waits gets no place: nobody could tell whether it lives" *
          doctest::test_suite("R3")) {
  Fixture f;
  f.hold_by_other();
  redis::Client client = client_without(f, "hset");
  const auto asks = [&] { return f.make("u:1").try_acquire(client, lock::Join::yes); };
  SUBCASE("whether there is a side key or not") {
    CHECK_THROWS_AS((void)asks(), Error);
    CHECK(f.server.keys() == Words{"job"});
    f.server.command({"HSET", k_info, "other:1", "{}"});
    CHECK_THROWS_AS((void)asks(), Error);
    CHECK(f.server.command({"EXISTS", k_queue}) == "0");
  }
  SUBCASE("but what an application has put in place of the side key keeps nobody from waiting") {
    f.server.command({"SET", k_info, "x"});
    CHECK(std::holds_alternative<lock::Busy>(asks()));
    CHECK(queue(f.server) == Words{"u:1"});
  }
}

TEST_CASE("R3: a queue has an end from its first moment, also where the rest of the request fails" *
          doctest::test_suite("R3")) {
  Fixture f;
  f.hold_by_other();
  redis::Client client = client_without(f, "zadd");
  CHECK_THROWS_AS((void)f.make("u:1").try_acquire(client, lock::Join::yes), Error);
  CHECK(f.server.command({"EXISTS", k_scores}) == "0");
  CHECK(f.server.command({"PTTL", k_queue}) != "-1");
}

TEST_CASE("R3: who may not ask who listens judges each of Redisson's waiters by its own time" *
          doctest::test_suite("R3")) {
  Fixture f;
  f.server.command({"ACL", "SETUSER", "deaf", "on", "nopass", "~*", "&*", "+@all", "-pubsub|numsub",
                    "-pubsub|shardnumsub"});
  REQUIRE(f.asks(f.make("u:0")));
  Peer dead(f.server, "r:1");
  Peer alive(f.server, "r:2");
  for (Peer* peer : {&dead, &alive}) CHECK_FALSE(peer->acquire());
  alive.listen();
  CHECK_FALSE(f.asks(f.make("u:1")));
  CHECK(f.locks[0].release(f.client) == lock::Release::freed);
  redis::ClientOptions options = f.client.options();
  options.endpoint.credentials = {"deaf", "any"};
  redis::Client client(options);
  f.server.command({"HDEL", k_info, "called"});
  // Its first request calls the first waiter, and the second passes that one by.
  for (int i = 0; i < 2; ++i) {
    CHECK(std::holds_alternative<lock::Busy>(f.locks[1].try_acquire(client, lock::Join::yes)));
    test::date_back_call(f.server, Milliseconds(8'100));
  }
  CHECK(queue(f.server) == Words{"r:2", "u:1"});
}
