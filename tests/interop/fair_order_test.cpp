// Fair locks: first come, first served, whoever it is.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "fleet.hpp"
#include "support/host_clock.hpp"
#include "support/wait_until.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

using Clients = std::vector<std::unique_ptr<Client>>;

const Lock k_lock{"fair", "job"};

class FairFleet : public Fleet {
 protected:
  // Queues one behind the others.
  static void queue_up(Clients& clients, std::unique_ptr<Client> next, const Lock& lock = k_lock) {
    clients.push_back(std::move(next));
    REQUIRE(come_to_wait(lock, static_cast<long>(clients.size())));
  }

  // Nothing is wrong with the queue. Java queues first and listens then, so the last may look dead
  // for a moment.
  static void check_healthy(const Lock& lock = k_lock) {
    wait_until([&] { return inspect(lock)["problems"].empty(); });
    CHECK(inspect(lock)["problems"].dump() == "[]");
  }

  // Each gets the lock soon after the one before has given it back, and no other.
  static void check_turns(Clients& clients, const Lock& lock = k_lock,
                          std::chrono::seconds soon = 60s) {
    for (std::size_t turn = 0; turn < clients.size(); ++turn) {
      CAPTURE(turn);
      REQUIRE(clients[turn]->gets_it(soon));
      for (std::size_t i = turn + 1; i < clients.size(); ++i) CHECK_FALSE(clients[i]->has_it());
      CHECK(queue(lock).size() == clients.size() - turn - 1);
      CHECK(deadlines(lock).size() == clients.size() - turn - 1);
      clients[turn]->release();
    }
  }
};

}  // namespace

TEST_CASE_FIXTURE(FairFleet, "both sides stand in one queue, in the order in which they came") {
  for (const Side holding : {Side::java, Side::rlock}) {
    CAPTURE(holding == Side::java);
    const std::unique_ptr<Client> holder = client(holding, k_lock);
    REQUIRE(holder->gets_it());
    Clients clients;
    for (const Side side :
         {Side::java, Side::rlock, Side::java, Side::rlock, Side::rlock, Side::java, Side::java}) {
      queue_up(clients, client(side, k_lock), k_lock);
    }
    check_healthy();
    CHECK(rlock_try(k_lock) == 75);
    CHECK(java_try(k_lock) == "false");
    holder->release();
    check_turns(clients);
  }
}

// Each grant to Java takes 300 s from all deadlines behind it.
TEST_CASE_FIXTURE(FairFleet, "a long queue of Java and rlock in turns keeps its order") {
  const char* const wish = std::getenv("RLOCK_TEST_QUEUE");
  const int count = wish != nullptr ? std::stoi(wish) : 120;
  RlockClient holder(server(), k_lock, {});
  REQUIRE(holder.gets_it());
  Clients clients;
  for (int i = 0; i < count; ++i) {
    if (i % 2 == 0) {
      queue_up(clients, std::make_unique<JavaClient>(java(), k_lock, -1));
    } else {
      // On a machine that is too busy for so many, none of them is to count as dead.
      const std::vector<std::string> options = {"--fair-wait", "10m"};
      queue_up(clients, std::make_unique<RlockClient>(server(), k_lock, options));
    }
  }
  holder.release();
  check_turns(clients);
}

TEST_CASE_FIXTURE(FairFleet, "two JVMs and rlock stand in one queue") {
  Peer other_java(server().tcp_url());
  RlockClient holder(server(), k_lock);
  REQUIRE(holder.gets_it());
  Clients clients;
  for (int i = 0; i < 2; ++i) {
    queue_up(clients, std::make_unique<JavaClient>(other_java, k_lock));
    queue_up(clients, std::make_unique<JavaClient>(java(), k_lock));
    queue_up(clients, client(Side::rlock, k_lock));
  }
  holder.release();
  check_turns(clients);
}

// A JVM compares deadlines with its own clock. A waiter of Java that is dropped by mistake sleeps
// for minutes.
TEST_CASE_FIXTURE(
    FairFleet, "a JVM whose clock is an hour ahead keeps the order, and sleeps on no free lock") {
  const HostClock clock(server().directory() + "/clock");
  clock.set(1h);
  Peer ahead(server().tcp_url(), {.env = clock.environment()});
  for (const Side holding : {Side::rlock, Side::java}) {
    for (const bool are_both : {true, false}) {  // waiters of that JVM, or the first only
      CAPTURE(side_name(holding));
      CAPTURE(are_both);
      const std::unique_ptr<Client> holder = client(holding, k_lock);
      REQUIRE(holder->gets_it());
      Clients clients;
      queue_up(clients, std::make_unique<JavaClient>(ahead, k_lock));
      queue_up(clients, client(Side::rlock, k_lock));
      queue_up(clients, std::make_unique<JavaClient>(are_both ? ahead : java(), k_lock));
      check_healthy();
      holder->release();
      check_turns(clients, k_lock, 20s);
    }
  }
}

TEST_CASE_FIXTURE(FairFleet, "inspect-queue shows the owners of both sides in their order") {
  JavaClient holder(java(), k_lock);
  REQUIRE(holder.gets_it());
  JavaClient first(java(), k_lock);
  REQUIRE(come_to_wait(k_lock, 1));
  RlockClient second(server(), k_lock);
  REQUIRE(come_to_wait(k_lock, 2));
  JavaClient third(java(), k_lock);
  REQUIRE(come_to_wait(k_lock, 3));
  // Java queues first and listens then.
  nlohmann::json seen;
  CHECK(wait_until([&] {
    seen = inspect(k_lock);
    return seen["waiters"].size() == 3 && seen["waiters"][0]["alive"] == true &&
           seen["waiters"][1]["alive"] == true && seen["waiters"][2]["alive"] == true;
  }));
  CHECK(seen["kind"] == "fair");
  CHECK(seen["holders"][0]["owner"] == holder.thread().owner());
  REQUIRE(seen["waiters"].size() == 3);
  CHECK(seen["waiters"][0]["owner"] == first.thread().owner());
  CHECK(seen["waiters"][1]["pid"] == second.process().pid());
  CHECK(seen["waiters"][2]["owner"] == third.thread().owner());
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(seen["waiters"][i]["position"] == i + 1);
    CHECK(seen["raw"]["queue"][i] == seen["waiters"][i]["owner"]);
  }
  holder.release();
  for (Client* next : std::initializer_list<Client*>{&first, &second, &third}) {
    REQUIRE(next->gets_it());
    next->release();
  }
}

TEST_CASE_FIXTURE(FairFleet, "who holds the lock re-enters it past the queue") {
  JavaClient holder(java(), k_lock);
  REQUIRE(holder.gets_it());
  Clients clients;
  queue_up(clients, client(Side::rlock, k_lock));
  CHECK(holder.thread().call("lock", k_lock, {k_long_lease_ms}) == "true");
  CHECK(holder.thread().call("unlock", k_lock) == "true");
  CHECK_FALSE(clients[0]->has_it());
  holder.release();
  check_turns(clients);
}

TEST_CASE_FIXTURE(FairFleet, "a free lock with a queue goes to its head, who is told of it") {
  Clients clients;
  SUBCASE("of Java") {
    JavaClient holder(java(), k_lock);
    REQUIRE(holder.gets_it());
    queue_up(clients, client(Side::java, k_lock));
    queue_up(clients, client(Side::rlock, k_lock));
    // Nobody says that the lock has become free, and Java would sleep to the end of the lease.
    server().command({"DEL", k_lock.name});
    CHECK(rlock_try(k_lock) == 75);
  }
  SUBCASE("of rlock") {
    JavaClient holder(java(), k_lock);
    REQUIRE(holder.gets_it());
    queue_up(clients, client(Side::rlock, k_lock));
    queue_up(clients, client(Side::java, k_lock));
    server().command({"DEL", k_lock.name});
  }
  check_turns(clients);
}

TEST_CASE_FIXTURE(FairFleet, "waiters keep their places behind a holder that renews for long") {
  const Lock of_java{"fair", "java"};
  const Lock of_rlock{"fair", "rlock"};
  Peer short_java(server().tcp_url(), {.watchdog = 5s});
  JavaClient java_holder(short_java, of_java, -1);
  RlockClient rlock_holder(server(), of_rlock, {"--lease", "5s"});
  REQUIRE(java_holder.gets_it());
  REQUIRE(rlock_holder.gets_it());

  // Longer than a waiter of rlock keeps its place without a sign of life.
  Clients behind_java;
  Clients behind_rlock;
  for (int i = 0; i < 2; ++i) {
    queue_up(behind_java, client(Side::rlock, of_java), of_java);
    queue_up(behind_java, client(Side::java, of_java), of_java);
    queue_up(behind_rlock, client(Side::java, of_rlock), of_rlock);
    queue_up(behind_rlock, client(Side::rlock, of_rlock), of_rlock);
  }
  const std::vector<std::string> java_queue = queue(of_java);
  const std::vector<std::string> rlock_queue = queue(of_rlock);
  Renewals java_renewals(server(), of_java);
  Renewals rlock_renewals(server(), of_rlock);
  CHECK(wait_until(
      [&] {
        CHECK(queue(of_java) == java_queue);
        CHECK(queue(of_rlock) == rlock_queue);
        const int java_count = java_renewals.count();
        return rlock_renewals.count() >= 16 && java_count >= 16;
      },
      120s));
  check_healthy(of_java);
  check_healthy(of_rlock);
  java_holder.release();
  rlock_holder.release();
  check_turns(behind_java, of_java);
  check_turns(behind_rlock, of_rlock);
}

TEST_CASE_FIXTURE(FairFleet, "a plain and a fair lock of one name exclude each other") {
  const Lock plain{"plain", k_lock.name};
  for (const Side holding : {Side::java, Side::rlock}) {
    for (const Lock& held : {plain, k_lock}) {
      const Lock& other = held.kind == "fair" ? plain : k_lock;
      CAPTURE(holding == Side::java);
      CAPTURE(held.kind);
      const std::unique_ptr<Client> holder = client(holding, held);
      REQUIRE(holder->gets_it());
      CHECK(java_try(other) == "false");
      CHECK(rlock_try(other) == 75);
      // Redisson's release tells its own kind only; rlock asks now and then, and tells both.
      const Side waiting = holding == Side::java ? Side::rlock : Side::java;
      const std::unique_ptr<Client> waiter = client(waiting, other);
      REQUIRE(come_to_wait(other));
      holder->release();
      REQUIRE(waiter->gets_it());
      waiter->release();
    }
  }
}
