// Fair locks on keys that hold nonsense: a clear refusal or plain service, never a hang or a spin.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <deque>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/fair_lock.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

// A queue of so many members r:1, r:2, ... with scores 1, 2, ... or without.
void fill(const Server& server, int count, bool with_scores) {
  constexpr int step = 5000;  // a busy machine is slow
  for (int done = 0; done < count; done += step) {
    server.command({"EVAL",
                    "for i = ARGV[1] + 1, ARGV[2] do redis.call('rpush', KEYS[1], 'r:' .. i) "
                    "if ARGV[3] == '1' then redis.call('zadd', KEYS[2], i, 'r:' .. i) end end",
                    "2", k_queue, k_scores, std::to_string(done),
                    std::to_string(std::min(count, done + step)), with_scores ? "1" : "0"});
  }
}

bool queued_by(const Server& server, pid_t pid) {
  const std::string tail = ":" + std::to_string(pid);
  const Words last = server.list({"LRANGE", k_queue, "-2", "-1"});
  return std::any_of(last.begin(), last.end(),
                     [&](const std::string& owner) { return owner.ends_with(tail); });
}

void check_gets_lock(const Server& server, const Words& options = {"-n"}) {
  const Result result = run(fair_argv(server, options, {"echo", "got"}));
  CHECK(result.status == 0);
  CHECK(result.out == "got\n");
  CHECK(result.err.empty());
}

void check_refused(const Server& server, const std::string& why) {
  for (const char* option : {"-n", "-q", "-w1s"}) {
    const Result result = run(fair_argv(server, {option}, {"echo", "got"}));
    CHECK(result.status == 76);
    CHECK(result.out.empty());
    CHECK(is_one_message(result.err));
    CHECK(has(result.err, why));
  }
}

}  // namespace

TEST_CASE(
    "fair: a key of the wrong type under the lock's or its queue's name is told by status 76") {
  struct Key {
    std::string name, good_maker, why;
  };
  Server server;
  for (const Key& key :
       {Key{"job", "HSET", ", not a lock"}, Key{k_queue, "RPUSH", "in place of its queue"},
        Key{k_scores, "ZADD", "in place of its queue"}}) {
    for (const Words& maker :
         {Words{"SET", key.name, "x"}, Words{"RPUSH", key.name, "x"}, Words{"SADD", key.name, "x"},
          Words{"HSET", key.name, "x", "1"}, Words{"ZADD", key.name, "1", "x"}}) {
      if (maker[0] == key.good_maker) continue;
      CAPTURE(maker[0]);
      CAPTURE(key.name);
      server.command({"FLUSHALL"});
      server.command(maker);
      const std::string before = server.command({"DUMP", key.name});
      check_refused(server, key.why);
      CHECK(server.command({"DUMP", key.name}) == before);
      CHECK(server.keys() == Words{key.name});
    }
  }
}

TEST_CASE("fair: a key that takes the wrong type during a wait ends it with status 76") {
  for (const std::string key : {"job", k_queue.c_str(), k_scores.c_str()}) {
    CAPTURE(key);
    Server server;
    hold_by_other(server);
    Process waiter(fair_argv(server, {}, {"echo", "got"}));
    REQUIRE(comes_to_queue(server, 1));
    const std::string owner = queue(server).at(0);
    server.command({"SET", key, "x"});
    server.command({"PUBLISH", k_channel + ":" + owner, "0"});
    const Result result = waiter.wait();
    CHECK(result.status == 76);
    CHECK(is_one_message(result.err));
    CHECK(server.command({"GET", key}) == "x");
    server.command({"DEL", "job", key});
    CHECK(comes_to_be_empty(server));
  }
}

TEST_CASE("fair: whatever the side key holds, there is service, and order") {
  const std::vector<Words> makers = {
      {"SET", k_info, "x"},
      {"RPUSH", k_info, "x"},
      {"HSET", k_info, "called", "x", "other:1", "[", "r:1", "{\"due\":\"soon\"}"},
      {"HSET", k_info, "called", "{\"owner\":{},\"at\":[]}", "r:1", "{\"due\":{},\"since\":{}}"},
      {"HSET", k_info, "called", "{\"owner\":\"r:1\",\"at\":-1e300}", "other:1", "null"}};
  for (const Words& maker : makers) {
    CAPTURE(maker.back());
    Server server;
    hold_by_other(server);
    server.command(maker);
    server.command({"RPUSH", k_queue, "r:1"});
    server.command({"ZADD", k_scores, "1", "r:1"});
    std::deque<Process> waiters;
    for (std::size_t i = 2; i <= 3; ++i) {
      waiters.emplace_back(fair_argv(server, {}, {"echo", "got"}));
      REQUIRE(comes_to_queue(server, i));
    }
    const std::string second = queue(server).at(1);
    server.command({"DEL", "job"});
    server.command({"PUBLISH", k_channel + ":" + second, "0"});
    for (Process& waiter : waiters) CHECK(waiter.wait().out == "got\n");
    CHECK(server.command({"EXISTS", "job", k_queue, k_scores}) == "0");
  }
}

TEST_CASE("fair: an application's hash is told by status 76") {
  Server server;
  server.command({"HSET", "job", "", "many", "mode\n", "-1"});
  const Result result = run(fair_argv(server, {"-w", "300ms"}, {"true"}));
  CHECK(result.status == 76);
  CHECK(result.err == "rlock: job: a hash that is not a lock\n");
  CHECK(wait_until([&] { return server.keys() == Words{"job"}; }));
}

TEST_CASE("W5: a broken queue delays nobody, and is gone" * doctest::test_suite("W5")) {
  const std::string long_member(100'000, 'x');
  Server server;
  const auto push = [&](const Words& members) {
    for (const std::string& member : members) server.command({"RPUSH", k_queue, member});
  };
  const auto score = [&](const std::string& value, const std::string& member) {
    server.command({"ZADD", k_scores, value, member});
  };
  SUBCASE("a Redisson defect: a member without a score") { push({"dead:1"}); }
  SUBCASE("members without a score, before and behind one with a score") {
    push({"dead:1", "dead:2", "dead:3"});
    score("1", "dead:2");
  }
  SUBCASE("a Redisson defect: scores without a member") {
    score("1", "dead:1");
    score("9e12", "dead:2");
  }
  SUBCASE("as many scores without a member as members without a score") {
    push({"dead:1"});
    score("9e12", "dead:2");
  }
  SUBCASE("a Redisson defect: deadlines hours ahead") {
    push({"dead:1", "dead:2"});
    score(std::to_string(server_time(server) + 7'200'000), "dead:1");
    score("9e15", "dead:2");
  }
  SUBCASE("a member that stands there more than once") {
    push({"dead:1", "dead:1", "dead:1"});
    score("1", "dead:1");
  }
  SUBCASE("names that are none, and scores that are no times") {
    push({"", "x", "mode", "called", std::string("a\0\xff\n", 4), "\x1b[2J", long_member});
    score("inf", "");
    score("-inf", "x");
    score("-1", "mode");
    score("0.5", "called");
    score("1e300", "\x1b[2J");
    score("1e-300", long_member);
  }
  check_gets_lock(server);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("W5: a broken queue behind a holder does not delay those who queue" *
          doctest::test_suite("W5")) {
  Server server;
  hold_by_other(server);
  fill(server, 20, false);
  for (const char* dead : {"-inf", "1"}) {
    server.command({"RPUSH", k_queue, dead});
    server.command({"ZADD", k_scores, dead, dead});
  }
  server.command({"ZADD", k_scores, "9e15", "orphan:1"});
  Process waiter(fair_argv(server, {}, {"echo", "got"}));
  REQUIRE(wait_until([&] { return queued_by(server, waiter.pid()); }));
  CHECK(run(rlock_argv("unlock", "--force", "-y", "--kind", "hash", "-r", server.unix_url(), "job"))
            .status == 0);
  CHECK(waiter.wait().out == "got\n");
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("W2: a dead head of a free lock makes nobody ask more often, and W5: it goes" *
          doctest::test_suite("W2")) {
  // A Redisson defect: its waiters ask without a pause then, until the deadline has passed.
  Server server;
  Peer dead(server, "r:1");
  hold_by_other(server);
  CHECK_FALSE(dead.acquire());
  server.command({"DEL", "job"});
  const Clock::time_point freed = Clock::now();  // the dead head has 8 s from here at the least
  std::deque<Process> waiters;
  for (std::size_t i = 0; i < 3; ++i) waiters.emplace_back(fair_argv(server, {}, {"echo", "got"}));
  REQUIRE(comes_to_queue(server, 4));
  const long before = script_calls(server);
  const Clock::time_point start = Clock::now();
  wait_until([&] { return Clock::now() - start > 3s; });
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(Clock::now() - start).count();
  const long calls = script_calls(server) - before;
  const bool all_wait =
      std::all_of(waiters.begin(), waiters.end(), [](Process& waiter) { return waiter.running(); });
  if (Clock::now() - freed < 7s) {  // a busy machine may be slower
    // One each 5 s, and a few more while each finds its place.
    CHECK(calls <= 3 * (3 + seconds / 5));
    CHECK(all_wait);
  }
  date_back_call(server, 10s);
  for (Process& waiter : waiters) CHECK(waiter.wait().out == "got\n");
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("fair: a queue of 100,000 is served") {
  const Words patiently = {"-n", "--timeout", "30s"};  // a busy machine is slow
  Server server;
  SUBCASE("of the dead") {
    fill(server, 100'000, true);
    check_gets_lock(server, patiently);
    CHECK(comes_to_be_empty(server));
  }
  SUBCASE("without a score") {
    fill(server, 100'000, false);
    check_gets_lock(server, patiently);
    CHECK(comes_to_be_empty(server));
  }
  SUBCASE("of which all wait for a lock that is held") {
    hold_by_other(server);
    fill(server, 100'000, true);
    Process waiter(fair_argv(server, {"--timeout", "30s"}, {"echo", "got"}));
    Process late(fair_argv(server, {"-w", "1s", "--timeout", "30s"}, {"echo", "got"}));
    REQUIRE(wait_until([&] { return queued_by(server, waiter.pid()); }));
    CHECK(late.wait().status == 75);
    waiter.signal(SIGTERM);
    CHECK(waiter.wait().status == 128 + SIGTERM);
    CHECK(server.command({"LLEN", k_queue}) == "100000");
    CHECK(server.command({"ZCARD", k_scores}) == "100000");
  }
}
