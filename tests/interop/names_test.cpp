// Names: both sides must spell the keys of each the same way.
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "fleet.hpp"

using namespace rlock::test;

namespace {

std::vector<std::string> names() {
  return {"job",
          "two words",
          " ",
          "k\xc3\xb6ln",
          "\xe6\x97\xa5\xe6\x9c\xac",
          "\xf0\x9f\x94\x92",  // beyond the BMP: two chars in Java
          "{a}b",
          "a{b}c",
          "{x",
          "x}",
          "}{",
          "{}",
          "{}x",
          "a{b{c}d}e",
          "a:b/c\\d",
          "line\nbreak\ttab",
          "%41+%2B&=?",
          "'\"$(x)`",
          "*?[a]",
          std::string(1024, 'n')};
}

}  // namespace

TEST_CASE_FIXTURE(Fleet, "every name is one lock and one channel for both sides") {
  Lock lock = lock_of_each_kind();
  for (const std::string& name : names()) {
    CAPTURE(name);
    lock.name = name;
    {
      JavaClient holder(java(), lock);
      REQUIRE(holder.gets_it());
      CHECK(server().command({"HGET", name, holder.thread().owner()}) == "1");
      CHECK(rlock_try(lock) == 75);
      JavaThread thread(java());
      RlockClient waiter(server(), lock);
      REQUIRE(come_to_wait(lock));
      holder.release();
      REQUIRE(waiter.gets_it());
      CHECK(thread.call("isLocked", lock) == "true");
      waiter.release();
    }
    RlockClient holder(server(), lock);
    REQUIRE(holder.gets_it());
    CHECK(java_try(lock) == "false");
    JavaClient waiter(java(), lock);
    REQUIRE(come_to_wait(lock));
    holder.release();
    REQUIRE(waiter.gets_it());
    CHECK(inspect(lock)["name"] == name);
    CHECK(inspect(lock)["holders"][0]["owner"] == waiter.thread().owner());
    waiter.release();
  }
}

TEST_CASE_FIXTURE(Fleet, "names that differ in braces only are different locks") {
  for (const char* kind : {"plain", "fair"}) {
    JavaClient java_holder(java(), {kind, "a"});
    REQUIRE(java_holder.gets_it());
    RlockClient rlock_holder(server(), {kind, "{a}"}, {"-q"});  // it says that "a" is in use
    REQUIRE(rlock_holder.gets_it());
    JavaClient java_waiter(java(), {kind, "{a}"});
    REQUIRE(come_to_wait({kind, "{a}"}));
    java_holder.release();
    CHECK_FALSE(java_waiter.has_it());
    rlock_holder.release();
    REQUIRE(java_waiter.gets_it());
    java_waiter.release();
  }
}
