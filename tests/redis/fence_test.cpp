// Fencing tokens: lua/include/fence.lua in the scripts that take a lock.
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "redis/fence_fixture.hpp"
#include "redis/lock_fixture.hpp"
#include "redis/server_error.hpp"
#include "support/script_calls.hpp"
#include "support/words.hpp"

using namespace rlock;
using namespace rlock::test::fence;
using test::client_of;
using test::has;
using test::Words;

namespace {

const std::string k_info = "rlock_info:{job}";

constexpr auto k_kinds = {lock::Kind::reentrant, lock::Kind::fair, lock::Kind::simple,
                          lock::Kind::write};

std::int64_t micros(const test::Server& server) {
  const Words time = server.list({"TIME"});
  return std::stoll(time[0]) * 1'000'000 + std::stoll(time[1]);
}

// The script itself, for one hold `id`. Returns the token.
std::string acquire(redis::Client& client, const std::string& owner, const std::string& id) {
  auto call = test::acquire_call(owner, id);
  call.token = test::k_job.token;
  call.about_json = "{\"host\":\"web1\"}";
  call.fencing = "draw";
  const auto reply = client.run(call);
  return reply.as_array(4)[3].as_text();
}

}  // namespace

TEST_CASE("fence: tokens grow with every grant, and are no lower than the server's clock") {
  test::Server server;
  redis::Client client = client_of(server);
  std::int64_t last = micros(server);
  for (int i = 0; i < 20; ++i) {
    const auto kind = k_kinds.begin()[i % 4];
    const std::int64_t token = take_and_release(kind, client);
    CHECK(token > last);
    CHECK(server.command({"GET", k_counter}) == std::to_string(token));
    last = token;
  }
  CHECK(last <= micros(server));
  // Nothing is left but the counter, which never expires.
  CHECK(server.keys() == Words{k_counter});
  CHECK(server.command({"TTL", k_counter}) == "-1");
}

TEST_CASE("fence: who draws no token does not touch the counter") {
  test::Server server;
  redis::Client client = client_of(server);
  auto lock = test::make_lock("u:1");
  const auto answer = lock.try_acquire(client, lock::Join::no);
  CHECK_FALSE(std::get<lock::Hold>(answer).token);
  CHECK(server.command({"EXISTS", k_counter}) == "0");
}

TEST_CASE("fence: tokens grow although the server has lost all data") {
  test::Server server;
  redis::Client client = client_of(server);
  std::int64_t last = take_and_release(lock::Kind::reentrant, client);
  const auto grows = [&] {
    for (const auto kind : k_kinds) {
      const std::int64_t token = take_and_release(kind, client);
      CHECK(token > last);
      last = token;
    }
  };
  SUBCASE("by FLUSHALL") {
    server.command({"FLUSHALL"});
    grows();
  }
  SUBCASE("by kill -9 without persistence") {
    for (int i = 0; i < 3; ++i) {
      server.stop();
      server.start();
      CHECK(server.keys().empty());
      grows();
    }
  }
  SUBCASE("by an old counter that was restored") {
    for (const char* old : {"1", "0", "-1", "-123456789", "-9223372036854775808"}) {
      server.command({"SET", k_counter, old});
      grows();
    }
  }
}

TEST_CASE("fence: a counter beyond what a double can tell apart goes up by one") {
  test::Server server;
  redis::Client client = client_of(server);
  std::string before;
  std::int64_t expected = 0;
  SUBCASE("2^53") { expected = 9'007'199'254'740'992; }
  SUBCASE("2^53 + 1") { expected = 9'007'199'254'740'993; }
  SUBCASE("2^62 + 1") { expected = 4'611'686'018'427'387'905; }
  SUBCASE("2^63 - 5") { expected = 9'223'372'036'854'775'803; }
  server.command({"SET", k_counter, std::to_string(expected)});
  for (const auto kind : k_kinds) {
    CHECK(take_and_release(kind, client) == ++expected);
  }
  CHECK(server.command({"GET", k_counter}) == std::to_string(expected));
}

TEST_CASE("fence: a counter that is none grants nothing and changes nothing") {
  test::Server server;
  redis::Client client = client_of(server);
  const std::vector<Words> makers = {{"RPUSH", k_counter, "1"},
                                     {"HSET", k_counter, "a", "1"},
                                     {"SADD", k_counter, "1"},
                                     {"ZADD", k_counter, "1", "1"},
                                     {"XADD", k_counter, "*", "a", "1"},
                                     {"SET", k_counter, ""},
                                     {"SET", k_counter, "x"},
                                     {"SET", k_counter, "1.5"},
                                     {"SET", k_counter, " 5"},
                                     {"SET", k_counter, "007"},
                                     {"SET", k_counter, "-"},
                                     {"SET", k_counter, "9223372036854775808"},
                                     {"SET", k_counter, "99999999999999999999999999"},
                                     {"SET", k_counter, "9223372036854775807"}};
  for (const Words& maker : makers) {
    CAPTURE(maker[0]);
    CAPTURE(maker[2]);
    server.command({"FLUSHALL"});
    server.command(maker);
    const std::string before = server.command({"DUMP", k_counter});
    const auto is_refused = [&](const auto& request) {
      try {
        static_cast<void>(request());
      } catch (const Error& error) {
        return error.status() == ExitStatus::wrong_kind;
      }
      return false;
    };
    for (const auto kind : k_kinds) {
      const auto lock = make(kind, "u:1");
      CHECK(is_refused([&] { return lock->try_acquire(client, lock::Join::no); }));
      CHECK(server.keys() == Words{k_counter});
      lock->stop_waiting(client);
    }
    server.command({"HSET", "job", "u:1", "1"});
    const auto inner = make(lock::Kind::reentrant, "u:1");
    CHECK(is_refused([&] { return inner->reenter(client); }));
    CHECK(server.command({"HGET", "job", "u:1"}) == "1");
    CHECK(server.keys() == Words{"job", k_counter});
    CHECK(server.command({"DUMP", k_counter}) == before);
  }
}

TEST_CASE("fence: who only looks is told the token that would be drawn next") {
  test::Server server;
  redis::Client client = client_of(server);
  auto call = test::acquire_call("u:1", "a");
  call.token = test::k_job.token;
  call.about_json = "{}";
  call.fencing = "peek";
  call.restart_delay = Milliseconds(0);
  const auto look = [&] { return client.run(call).as_array(4)[3].as_text(); };
  for (const char* value : {"9007199254740993", "9007199999999998", "9007199999999999",
                            "4611686018999999999", "8999999999999999999", "9223372036854775806"}) {
    CAPTURE(value);
    server.command({"FLUSHALL"});
    server.command({"SET", k_counter, value});
    CHECK(look() == std::to_string(std::stoll(value) + 1));
    CHECK(server.command({"GET", k_counter}) == value);
  }
  server.command({"FLUSHALL"});
  const std::int64_t now = micros(server);
  CHECK(std::stoll(look()) >= now);
  CHECK(server.command({"EXISTS", k_counter}) == "0");
}

// One of several servers looks at its counter only: who asks has to tell "no token can be drawn"
// from a server that started too short a time ago, which grants later.
TEST_CASE("fence: who only looks at a counter that is none is told so, and changes nothing") {
  test::Server server;
  redis::Client client = client_of(server);
  auto call = test::acquire_call("u:1", "a");
  call.token = test::k_job.token;
  call.about_json = "{}";
  call.fencing = "peek";
  call.restart_delay = Milliseconds(0);
  for (const Words& maker :
       {Words{"RPUSH", k_counter, "1"}, Words{"SET", k_counter, "x"},
        Words{"SET", k_counter, "1.5"}, Words{"SET", k_counter, "9223372036854775808"},
        Words{"SET", k_counter, "9223372036854775807"}}) {
    CAPTURE(maker[2]);
    server.command({"FLUSHALL"});
    server.command(maker);
    const std::string before = server.command({"DUMP", k_counter});
    const auto reply = client.run(call);
    CHECK(reply.as_array(2)[0].as_integer() == 4);
    CHECK_FALSE(reply.as_array(2)[1].as_text().empty());
    CHECK(server.keys() == Words{k_counter});
    CHECK(server.command({"DUMP", k_counter}) == before);
  }
}

TEST_CASE("fence: a server out of memory grants nothing, and says so") {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  for (const auto kind : k_kinds) {
    const auto lock = make(kind, "u:1");
    try {
      static_cast<void>(lock->try_acquire(client, lock::Join::no));
      FAIL("it was granted");
    } catch (const redis::ServerError& error) {
      CHECK(error.status() == ExitStatus::unavailable);
      CHECK(error.code() == "OOM");
    }
    CHECK(server.keys().empty());
  }
}

TEST_CASE("fence: a counter that would expire does so no longer") {
  test::Server server;
  redis::Client client = client_of(server);
  for (const char* value : {"7", "9007199254740993"}) {
    server.command({"SET", k_counter, value, "EX", "100"});
    take_and_release(lock::Kind::reentrant, client);
    CHECK(server.command({"TTL", k_counter}) == "-1");
  }
}

TEST_CASE("S6: a request sent again draws its token once" * doctest::test_suite("S6")) {
  test::Server server;
  redis::Client client = client_of(server);
  const std::string token = acquire(client, "u:1", "a");
  for (int i = 0; i < 3; ++i) CHECK(acquire(client, "u:1", "a") == token);
  CHECK(server.command({"GET", k_counter}) == token);
  const auto waiter = make(lock::Kind::fair, "u:1");  // the same of the other script
  CHECK(std::to_string(take(*waiter, client)) == token);
  CHECK(server.command({"HGET", "job", "u:1"}) == "1");
}

TEST_CASE("fence: a grant to the same owner is another one once the lock was lost") {
  test::Server server;
  redis::Client client = client_of(server);
  const std::string token = acquire(client, "u:1", "a");
  server.command({"DEL", "job"});  // and what is told of the owner is still there
  const std::string second = acquire(client, "u:1", "a");
  CHECK(std::stoll(second) > std::stoll(token));
  CHECK(server.command({"GET", k_counter}) == second);
}

TEST_CASE("fence: who re-enters has the token of the outer hold") {
  test::Server server;
  redis::Client client = client_of(server);
  lock::About about{"web1", 42, "ann", "cmd"};
  SUBCASE("known to others") {}
  SUBCASE("not known to others") { about = {}; }
  const auto outer = make(lock::Kind::reentrant, "u:1", about);
  const std::int64_t token = take(*outer, client);
  CHECK(outer->renew(client) == lock::Renewal::renewed);
  const auto inner = make(lock::Kind::reentrant, "u:1");
  const auto lease = inner->reenter(client);
  REQUIRE(lease);
  CHECK(lease->token == token);
  CHECK(lease->count == 2);
  CHECK(inner->release(client) == lock::Release::still_held);
  CHECK(make(lock::Kind::fair, "u:1")->reenter(client)->token == token);
}

TEST_CASE("fence: a re-entry draws a token where the outer hold has none") {
  test::Server server;
  redis::Client client = client_of(server);
  auto outer = test::make_lock("u:1");
  REQUIRE(std::holds_alternative<lock::Hold>(outer.try_acquire(client, lock::Join::no)));
  const std::int64_t now = micros(server);
  const auto token = make(lock::Kind::reentrant, "u:1")->reenter(client)->token;
  CHECK(token > now);
  CHECK(make(lock::Kind::reentrant, "u:1")->reenter(client)->token == token);
  CHECK(has(server.command({"HGET", k_info, "u:1"}), "web1"));
}

TEST_CASE("fence: where the outer token is not known, or not the newest, a higher one is drawn") {
  test::Server server;
  redis::Client client = client_of(server);
  const auto outer = make(lock::Kind::reentrant, "u:1");
  const std::int64_t token = take(*outer, client);
  std::int64_t highest = token;
  SUBCASE("the side key is gone") { server.command({"DEL", k_info}); }
  SUBCASE("the side key is something else") {
    server.command({"SET", k_info, "x"});
    const auto inner = make(lock::Kind::reentrant, "u:1");
    CHECK(*inner->reenter(client)->token > token);  // and once more below
  }
  SUBCASE("it says something else") {
    server.command({"HSET", k_info, "u:1", R"({"token":["7"]})"});
  }
  SUBCASE("it is a number") { server.command({"HSET", k_info, "u:1", R"({"token":7})"}); }
  SUBCASE("it is no JSON") { server.command({"HSET", k_info, "u:1", "{"}); }
  SUBCASE("the counter was raised") {
    highest = 9'007'199'254'740'993;
    server.command({"SET", k_counter, std::to_string(highest)});
  }
  SUBCASE("the counter is gone") { server.command({"DEL", k_counter}); }
  CHECK(*make(lock::Kind::reentrant, "u:1")->reenter(client)->token > highest);
}

TEST_CASE("fence: neither breaking a lock nor releasing it touches the counter") {
  test::Server server;
  redis::Client client = client_of(server);
  const auto lock = make(lock::Kind::fair, "u:1");
  const std::string token = std::to_string(take(*lock, client));
  CHECK(test::breaks(client) == Words{"u:1"});
  CHECK(server.command({"GET", k_counter}) == token);
  CHECK(lock->release(client) == lock::Release::not_held);
  CHECK(server.command({"GET", k_counter}) == token);
  CHECK(server.command({"TTL", k_counter}) == "-1");
}
