// Why a fencing token over several servers needs what it takes (model.hpp): with all
// of it no schedule breaks the order of tokens, and without any part of it some do.
// Labels: unsanitized
#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "unit/quorum_token/model.hpp"

using namespace rlock::test;

namespace {

struct Outcome {
  int shown = 0;
  int duplicates = 0;
  int steps_back = 0;
};

Outcome simulate(std::size_t nodes, int schedules, const Rules& rules) {
  Random random;
  Outcome outcome;
  for (int i = 0; i < schedules; ++i) {
    Schedule schedule(nodes, rules, random);
    std::vector<Token> shown = schedule.run();
    outcome.shown += static_cast<int>(shown.size());
    for (std::size_t k = 1; k < shown.size(); ++k) outcome.steps_back += shown[k] < shown[k - 1];
    std::sort(shown.begin(), shown.end());
    for (std::size_t k = 1; k < shown.size(); ++k) outcome.duplicates += shown[k] == shown[k - 1];
  }
  return outcome;
}

}  // namespace

TEST_CASE("quorum token: no duplicate and no step back in 60,000 schedules") {
  for (const std::size_t nodes : {3, 4, 5}) {
    CAPTURE(nodes);
    const Outcome outcome = simulate(nodes, 60'000, {});
    CHECK(outcome.duplicates == 0);
    CHECK(outcome.steps_back == 0);
    CHECK(outcome.shown > 40'000);  // else nothing was put to the test
  }
}

TEST_CASE("quorum token: nor where each grant draws at once, as with one server") {
  Rules rules;
  rules.draws_at_once = true;
  for (const std::size_t nodes : {3, 4, 5}) {
    const Outcome outcome = simulate(nodes, 10'000, rules);
    CHECK(outcome.duplicates == 0);
    CHECK(outcome.steps_back == 0);
  }
}

TEST_CASE("quorum token: counters that servers lose do no harm where tokens follow the clock") {
  Rules rules;
  rules.keeps_counters = false;
  CHECK(simulate(3, 5'000, rules).steps_back > 0);
  rules.draws_by_clock = true;
  for (const std::size_t nodes : {3, 4, 5}) {
    const Outcome outcome = simulate(nodes, 10'000, rules);
    CHECK(outcome.duplicates == 0);
    CHECK(outcome.steps_back == 0);
  }
}

TEST_CASE("quorum token: the highest token of a majority of grants is not enough") {
  Rules rules;
  rules.raises = false;
  rules.draws_at_once = true;
  for (const std::size_t nodes : {3, 4, 5}) {
    const Outcome outcome = simulate(nodes, 5'000, rules);
    CHECK(outcome.duplicates > 0);
    CHECK(outcome.steps_back > 0);
  }
}

TEST_CASE("quorum token: each of the precautions is needed") {
  Rules rules;
  SUBCASE("a client that shows its token late") { rules.minds_lease = false; }
  SUBCASE("a server that grants locks right after it has forgotten them") {
    rules.delays_restart = false;
  }
  CHECK(simulate(3, 10'000, rules).steps_back > 0);
}

TEST_CASE("quorum token: where locks are broken, only the owner's raise keeps tokens apart") {
  Rules rules;
  rules.breaks_locks = true;
  CHECK(simulate(3, 20'000, rules).duplicates == 0);
  rules.asks_for_owner = false;
  CHECK(simulate(3, 20'000, rules).duplicates > 0);
}
