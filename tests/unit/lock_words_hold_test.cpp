#include <string>

#include <doctest/doctest.h>

#include "lock/words/held.hpp"
#include "lock/words/hold.hpp"

using namespace rlock::lock;
using Kind = Hold::Kind;

namespace {

const std::string k_id = "0123456789abcdef0123456789abcdef";

}  // namespace

TEST_CASE("a hold comes back from RLOCK_HELD, between the runs of exec, the innermost last") {
  std::string held = with_held("", "job", "u:1", run_of({Kind::granted, k_id}));
  held = with_held(held, "job", "u:1", "0123456789abcdef");
  held = with_held(held, "job", "u:1", run_of({Kind::reentered, k_id}));
  held = with_held(held, "job", "u:1", run_of({Kind::nested, k_id}));
  const auto entry = find_held(held, "job");
  REQUIRE(entry);
  const auto holds = holds_among(entry->runs);
  REQUIRE(holds.size() == 3);
  CHECK(holds[0].kind == Kind::granted);
  CHECK(holds[1].kind == Kind::reentered);
  CHECK(holds[2].kind == Kind::nested);
  for (const Hold& hold : holds) CHECK(hold.id == k_id);
}

TEST_CASE("a hold of a read/write lock tells its side") {
  using Side = Hold::Side;
  for (const Side side : {Side::none, Side::read, Side::write}) {
    const auto holds = holds_among(run_of({Kind::reentered, k_id, {}, side}));
    REQUIRE(holds.size() == 1);
    CHECK(holds[0].side == side);
    CHECK(holds[0].kind == Kind::reentered);
    CHECK(holds[0].id == k_id);
  }
}

TEST_CASE("what is no hold is none") {
  for (const std::string& runs :
       {std::string(), std::string("/"), k_id, std::string("granted"), "granted" + k_id + "0",
        "granted" + k_id.substr(1), "granted" + k_id.substr(1) + "G", "Granted" + k_id,
        "other" + k_id, "read" + k_id, " granted" + k_id}) {
    CAPTURE(runs);
    CHECK(holds_among(runs).empty());
    CHECK(holds_among(runs + "/granted" + k_id + "/" + runs).size() == 1);
  }
}
