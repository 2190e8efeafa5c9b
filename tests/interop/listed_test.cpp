// Finding the locks of Java services on a server.
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "fleet.hpp"
#include "support/wait_until.hpp"

using namespace rlock::test;

namespace {

// The only lock on the server.
nlohmann::json only_row(const Server& server) {
  const Result result = run(rlock_argv("list", "--json", "-r", server.unix_url()));
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  return nlohmann::json::parse(result.out);
}

}  // namespace

TEST_CASE_FIXTURE(Fleet, "rlock list finds the locks that Java holds, and no others") {
  Lock lock = lock_of_each_kind();
  const bool is_fair = lock.kind == "fair";
  for (const std::string name : {"job", "a{b}c", "{x", "{a}"}) {
    CAPTURE(name);
    lock.name = name;
    JavaClient holder(java(), lock);
    REQUIRE(holder.gets_it());
    JavaClient waiter(java(), lock);
    REQUIRE(come_to_wait(lock));
    // A waiter of Redisson queues first, and seems dead until it listens.
    CHECK(wait_until([] { return only_row(server())["problems"].empty(); }));
    const auto row = only_row(server());
    CHECK(row["name"] == name);
    CHECK(row["kind"] == (is_fair ? "fair" : "reentrant"));
    CHECK(row["state"] == "held");
    CHECK(row["ttl_ms"] > 0);
    CHECK(row["holder_count"] == 1);
    CHECK(row["owner"] == holder.thread().owner());
    CHECK(row["host"].is_null());
    CHECK(row["waiter_count"] == 1);  // a plain one is known by its subscription
    holder.release();
    REQUIRE(waiter.gets_it());
    waiter.release();
    const Result none = run(rlock_argv("list", "-q", "-r", server().unix_url()));
    CHECK(none.status == 0);
    CHECK(none.out.empty());
  }
}

TEST_CASE_FIXTURE(Fleet, "rlock list finds the read and write locks that Java holds") {
  const Lock read{"read", "pair"};
  const Lock write{"write", "pair"};
  JavaClient writer(java(), write);
  REQUIRE(writer.gets_it());
  CHECK(only_row(server())["kind"] == "read-write");
  CHECK(only_row(server())["owner"] == writer.thread().owner() + ":write");
  writer.release();
  JavaClient reader(java(), read);
  REQUIRE(reader.gets_it());
  JavaClient another(java(), read);
  REQUIRE(another.gets_it());
  CHECK(only_row(server())["kind"] == "read-write");
  CHECK(only_row(server())["holder_count"] == 2);
  // The strings that keep the readers' leases are no locks.
  const Result simple =
      run(rlock_argv("list", "nothing", "-q", "--simple", "*", "-r", server().unix_url()));
  CHECK(simple.out.empty());
  reader.release();
  another.release();
}
