// check_token.lua and raise_token.lua.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "lock/inspection/repair.hpp"
#include "lock/inspection/snapshot.hpp"
#include "lock/servers/fencing.hpp"
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

TEST_CASE("check_token: only the highest is accepted, and the check changes nothing") {
  test::Server server;
  redis::Client client = client_of(server);
  const auto check = [&](std::int64_t token) { return lock::check_token(client, "job", token); };
  using Verdict = lock::TokenCheck::Verdict;
  CHECK(check(5).verdict == Verdict::no_counter);
  CHECK(server.keys().empty());
  for (const std::int64_t token :
       {std::int64_t{5}, std::int64_t{999'999'999}, std::int64_t{1'000'000'000},
        std::int64_t{9'007'199'254'740'993}, std::int64_t{9'007'199'254'740'994},
        std::int64_t{9'223'372'036'854'775'806}}) {
    CAPTURE(token);
    server.command({"SET", k_counter, std::to_string(token)});
    const std::pair<std::int64_t, Verdict> others[] = {{token, Verdict::accepted},
                                                       {token - 1, Verdict::stale},
                                                       {0, Verdict::stale},
                                                       {token + 1, Verdict::not_drawn},
                                                       {INT64_MAX, Verdict::not_drawn}};
    for (const auto& [checked, verdict] : others) {
      CHECK(check(checked).verdict == verdict);
      CHECK(check(checked).highest == std::to_string(token));
    }
    CHECK(server.command({"GET", k_counter}) == std::to_string(token));
  }
  CHECK(server.keys() == Words{k_counter});
}

TEST_CASE("check_token: a token is stale as soon as a newer one was granted") {
  test::Server server;
  redis::Client client = client_of(server);
  using Verdict = lock::TokenCheck::Verdict;
  const std::int64_t old = take_and_release(lock::Kind::reentrant, client);
  CHECK(lock::check_token(client, "job", old).verdict == Verdict::accepted);
  const std::int64_t young = take_and_release(lock::Kind::fair, client);
  CHECK(lock::check_token(client, "job", old).verdict == Verdict::stale);
  CHECK(lock::check_token(client, "job", young).verdict == Verdict::accepted);
  // A server that has lost its data accepts none that it does not know.
  server.command({"FLUSHALL"});
  CHECK(lock::check_token(client, "job", young).verdict == Verdict::no_counter);
  take_and_release(lock::Kind::reentrant, client);
  CHECK(lock::check_token(client, "job", young).verdict == Verdict::stale);
}

TEST_CASE(
    "check_token: after a repair, the holder's token is accepted, and the next one is higher") {
  test::Server server;
  redis::Client client = client_of(server);
  using Verdict = lock::TokenCheck::Verdict;
  for (const lock::Kind kind : {lock::Kind::reentrant, lock::Kind::simple, lock::Kind::write}) {
    const auto holder = make(kind, "u:1");
    const std::int64_t held = take(*holder, client);
    for (const char* bad : {"9223372036854775807", "9000000000000000001", "text", "5"}) {
      CAPTURE(bad);
      server.command({"SET", k_counter, bad});
      CHECK(lock::repair(client, lock::take_snapshot(client, "job"), {}, lock::Repair::repair)
                .size() == 1);
      CHECK(lock::check_token(client, "job", held).verdict == Verdict::accepted);
    }
    CHECK(holder->release(client) == lock::Release::freed);
    CHECK(take_and_release(kind, client) > held);
  }
}

TEST_CASE("check_token: a repair leaves a counter that is too high to its holder") {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"SET", k_counter, "9223372036854775806"});
  const auto holder = make(lock::Kind::reentrant, "u:1");
  const std::int64_t held = take(*holder, client);
  CHECK(held == INT64_MAX);
  CHECK(lock::repair(client, lock::take_snapshot(client, "job"), {}, lock::Repair::repair).empty());
  CHECK(lock::check_token(client, "job", held).verdict == lock::TokenCheck::Verdict::accepted);
  CHECK(holder->release(client) == lock::Release::freed);
  CHECK(lock::repair(client, lock::take_snapshot(client, "job"), {}, lock::Repair::repair).size() ==
        1);
  CHECK(take_and_release(lock::Kind::reentrant, client) < held);
}

TEST_CASE("check_token, raise_token: a counter that is none accepts nothing and stays as it is") {
  test::Server server;
  redis::Client client = client_of(server);
  server.command({"HSET", "job", "u:1", "1"});
  auto call = test::acquire_call("u:1", "a");
  call.token = test::k_job.token;
  call.about_json = "{}";
  call.fencing = "peek";
  call.restart_delay = Milliseconds(0);
  for (const Words& maker :
       {Words{"RPUSH", k_counter, "1"}, Words{"HSET", k_counter, "a", "1"},
        Words{"SET", k_counter, "x"}, Words{"SET", k_counter, ""}, Words{"SET", k_counter, "1.5"},
        Words{"SET", k_counter, "007"}, Words{"SET", k_counter, "-0"},
        Words{"SET", k_counter, "9223372036854775808"}}) {
    CAPTURE(maker[2]);
    server.command({"DEL", k_counter});
    server.command(maker);
    const std::string before = server.command({"DUMP", k_counter});
    CHECK_THROWS_AS(static_cast<void>(lock::check_token(client, "job", 5)), Error);
    CHECK_THROWS_AS(static_cast<void>(lock::raise_token(client, "job", "u:1", 5)), Error);
    CHECK(server.command({"DUMP", k_counter}) == before);
  }
  server.command({"SET", k_counter, "-7"});
  CHECK(lock::check_token(client, "job", 0).verdict == lock::TokenCheck::Verdict::accepted);
}

TEST_CASE("check_token: a replica accepts nothing") {
  test::Server server;
  test::Server replica;
  redis::Client client = client_of(replica);
  replica.command({"SET", k_counter, "5"});
  replica.command({"REPLICAOF", "127.0.0.1", std::to_string(server.port())});
  try {
    static_cast<void>(lock::check_token(client, "job", 5));
    FAIL("it was accepted");
  } catch (const Error& error) {
    CHECK(error.status() == ExitStatus::unavailable);
  }
}

TEST_CASE("raise_token: only for the holder, never down, and known to who re-enters") {
  test::Server server;
  redis::Client client = client_of(server);
  const auto lock = make(lock::Kind::reentrant, "u:1");
  const std::int64_t token = take(*lock, client);
  const auto raise = [&](const std::string& owner, std::int64_t to) {
    return lock::raise_token(client, "job", owner, to);
  };
  CHECK_FALSE(raise("u:2", token + 5));
  CHECK(server.command({"GET", k_counter}) == std::to_string(token));
  for (int i = 0; i < 2; ++i) CHECK(raise("u:1", token + 5));
  CHECK(server.command({"GET", k_counter}) == std::to_string(token + 5));
  CHECK(make(lock::Kind::reentrant, "u:1")->reenter(client)->token == token + 5);
  CHECK(raise("u:1", token + 4));
  CHECK(server.command({"GET", k_counter}) == std::to_string(token + 5));
  CHECK(server.command({"TTL", k_counter}) == "-1");
  const std::int64_t high = 9'007'199'254'740'993;
  CHECK(raise("u:1", high));
  CHECK(server.command({"GET", k_counter}) == std::to_string(high));
  server.command({"FLUSHALL"});
  CHECK_FALSE(raise("u:1", 5));
  CHECK(server.keys().empty());
  // A string lock, and a counter that is not there yet.
  server.command({"SET", "job", "u:1"});
  CHECK_FALSE(raise("u:2", 5));
  CHECK(raise("u:1", 5));
  CHECK(server.command({"GET", k_counter}) == "5");
  CHECK(server.keys() == Words{"job", k_counter});
  server.command({"DEL", "job"});
  server.command({"RPUSH", "job", "u:1"});
  CHECK_FALSE(raise("u:1", 9));
}
