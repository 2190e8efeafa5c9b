// Who holds a lock excludes the others, and a release wakes who waits: in every pairing.
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "fleet.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

TEST_CASE_FIXTURE(Fleet, "a holder excludes both sides, and its release wakes the waiter") {
  const Lock lock = lock_of_each_kind();
  for (const Side holding : {Side::java, Side::rlock}) {
    for (const Side waiting : {Side::java, Side::rlock}) {
      CAPTURE(side_name(holding));
      CAPTURE(side_name(waiting));
      const std::unique_ptr<Client> holder = client(holding, lock);
      REQUIRE(holder->gets_it());
      CHECK(java_try(lock) == "false");
      CHECK(rlock_try(lock) == 75);
      const std::unique_ptr<Client> waiter = client(waiting, lock);
      REQUIRE(come_to_wait(lock));
      CHECK_FALSE(waiter->has_it());
      // The leases go on for minutes: it is the message that wakes.
      holder->release();
      REQUIRE(waiter->gets_it());
      CHECK(java_try(lock) == "false");
      CHECK(rlock_try(lock) == 75);
      waiter->release();
      CHECK(java_try(lock) == "true");
      CHECK(rlock_try(lock) == 0);
    }
  }
}

TEST_CASE_FIXTURE(Fleet, "one release wakes one of many waiters, and in the end all had a turn") {
  const Lock lock = lock_of_each_kind();
  const std::unique_ptr<Client> holder = client(Side::java, lock);
  REQUIRE(holder->gets_it());
  std::vector<std::unique_ptr<Client>> waiters;
  for (const Side side : {Side::java, Side::rlock, Side::java, Side::rlock, Side::rlock}) {
    waiters.push_back(client(side, lock));
  }
  // A JVM listens once for all its threads.
  REQUIRE(come_to_wait(lock, lock.kind == "fair" ? 5 : 4));
  holder->release();
  std::vector<Client*> all;
  for (const std::unique_ptr<Client>& waiter : waiters) all.push_back(waiter.get());
  take_turns(all);
}

TEST_CASE_FIXTURE(Fleet, "messages, not polls, hand a lock to and fro") {
  const Lock lock = lock_of_each_kind();
  constexpr int k_rounds = 12;
  const Clock::time_point start = Clock::now();
  std::unique_ptr<Client> holder = client(Side::java, lock);
  REQUIRE(holder->gets_it());
  for (int round = 0; round < k_rounds; ++round) {
    std::unique_ptr<Client> next = client(round % 2 == 0 ? Side::rlock : Side::java, lock);
    REQUIRE(come_to_wait(lock));
    holder->release();
    REQUIRE(next->gets_it());
    holder = std::move(next);
  }
  holder->release();
  // A waiter of rlock that missed the message would ask again after 5 s.
  CHECK(Clock::now() - start < k_rounds / 2 * 5s);
}

TEST_CASE_FIXTURE(Fleet, "under contention every holder is alone") {
  const Lock lock = lock_of_each_kind();
  constexpr int k_threads = 3;
  constexpr int k_times = 30;
  constexpr int k_runs = 15;
  server().command({"SET", "counter", "0"});
  std::deque<JavaThread> threads;
  std::deque<JavaCall> calls;
  for (int i = 0; i < k_threads; ++i) {
    threads.emplace_back(java());
    calls.push_back(threads.back().count(lock, "counter", k_times));
  }
  std::vector<std::string> argv = exec_argv(server().unix_url(), lock, {});
  argv.insert(argv.end(), {"--", "sh", "-c",
                           "redis-cli -s \"$0\" set counter "
                           "$(($(redis-cli -s \"$0\" get counter) + 1)) > /dev/null",
                           server().unix_path()});
  for (int i = 0; i < k_runs / 3; ++i) {
    std::deque<Process> processes;
    for (int j = 0; j < 3; ++j) processes.emplace_back(argv);
    for (Process& process : processes) {
      const Result result = process.wait(120s);
      CAPTURE(result.err);
      CHECK(result.status == 0);
    }
  }
  for (JavaCall& call : calls) CHECK(call.answer(120s) == "true");
  CHECK(server().command({"GET", "counter"}) == std::to_string(k_threads * k_times + k_runs));
  server().command({"DEL", "counter"});
}
