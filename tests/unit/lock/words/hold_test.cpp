#include "lock/words/hold.hpp"

#include <string>

#include <doctest/doctest.h>

#include "lock/words/held.hpp"

using namespace rlock::lock;
using Standing = Hold::Standing;

namespace {

const std::string k_id = "0123456789abcdef0123456789abcdef";

}  // namespace

TEST_CASE("a hold comes back from RLOCK_HELD, between the runs of exec, the innermost last") {
  std::string held =
      with_held("", "job", "u:1", run_of({.id = k_id, .standing = Standing::granted}));
  held = with_held(held, "job", "u:1", "0123456789abcdef");
  held = with_held(held, "job", "u:1", run_of({.id = k_id, .standing = Standing::reentered}));
  held = with_held(held, "job", "u:1", run_of({.id = k_id, .standing = Standing::nested}));
  const auto entry = find_held(held, "job");
  REQUIRE(entry);
  const auto holds = holds_among(entry->runs, entry->owner);
  REQUIRE(holds.size() == 3);
  CHECK(holds[0].standing == Standing::granted);
  CHECK(holds[1].standing == Standing::reentered);
  CHECK(holds[2].standing == Standing::nested);
  for (const Hold& hold : holds) {
    CHECK(hold.id == k_id);
    CHECK(hold.owner == "u:1");
  }
}

TEST_CASE("a hold tells the side of a read/write lock, or that the lock is a string") {
  for (const Side side : {Side::none, Side::read, Side::write, Side::string}) {
    const auto holds =
        holds_among(run_of({.id = k_id, .standing = Standing::reentered, .side = side}), "u:1");
    REQUIRE(holds.size() == 1);
    CHECK(holds[0].side == side);
    CHECK(holds[0].standing == Standing::reentered);
    CHECK(holds[0].id == k_id);
  }
}

TEST_CASE("what is no hold is none") {
  for (const std::string& runs :
       {std::string(), std::string("/"), k_id, std::string("granted"), "granted" + k_id + "0",
        "granted" + k_id.substr(1), "granted" + k_id.substr(1) + "G", "Granted" + k_id,
        "other" + k_id, "read" + k_id, " granted" + k_id}) {
    CAPTURE(runs);
    CHECK(holds_among(runs, "u:1").empty());
    CHECK(holds_among(runs + "/granted" + k_id + "/" + runs, "u:1").size() == 1);
  }
}
