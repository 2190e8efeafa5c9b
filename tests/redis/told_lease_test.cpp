// The lease that an owner's entry in the side key has.
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "lock/kinds/fair.hpp"
#include "lock/kinds/read_write.hpp"
#include "lock/kinds/semaphore.hpp"
#include "lock/kinds/simple.hpp"
#include "redis/lock_fixture.hpp"

using namespace rlock;
using test::client_of;

namespace {

struct Sample {
  lock::KindOperations operations;
  std::string field;  // of the entry
};

// Each is asked for by the short way of its script first, and then with a token drawn, if it can.
std::vector<Sample> samples() {
  return {{lock::plain_operations("job"), "u:1"},
          {lock::fair_operations("job", lua::k_our_wait), "u:1"},
          {lock::simple_operations("job"), "u:1"},
          {lock::read_write_operations("job", lock::Kind::read), "u:1"},
          {lock::read_write_operations("job", lock::Kind::write), "u:1:write"},
          {lock::semaphore_operations("job", 1), "u:1"}};
}

long told(const test::Server& server, const std::string& field) {
  const std::string text = server.command({"HGET", "rlock_info:{job}", field});
  return nlohmann::json::parse(text).value("lease", 0L);
}

lock::SingleServerLock make(const Sample& sample, Milliseconds lease, lock::Fencing fencing) {
  lock::Terms terms{lease};
  terms.fencing = fencing;
  // What looks like a lease in a text is left alone.
  lock::About about{"web1", 42, "ann", "backup"};
  about.note = R"("lease":7)";
  return {sample.operations, "u:1", about, terms};
}

}  // namespace

TEST_CASE("side key: has the lease of a holder's last grant, re-entry or renewal") {
  test::Server server;
  redis::Client client = client_of(server);
  for (const lock::Fencing fencing : {lock::Fencing::off, lock::Fencing::on}) {
    for (const Sample& sample : samples()) {
      CAPTURE(static_cast<int>(sample.operations.kind));
      if (fencing == lock::Fencing::on && !lock::traits_of(sample.operations.kind).has_tokens)
        continue;
      server.command({"FLUSHALL"});
      lock::SingleServerLock first = make(sample, Milliseconds(30'000), fencing);
      REQUIRE(std::holds_alternative<lock::Hold>(first.try_acquire(client, lock::Join::no)));
      CHECK(told(server, sample.field) == 30'000);
      CHECK(first.renew(client) == lock::Renewal::renewed);
      CHECK(told(server, sample.field) == 30'000);

      lock::SingleServerLock nested = make(sample, Milliseconds(600'000), fencing);
      REQUIRE(nested.reenter(client));
      CHECK(told(server, sample.field) == 600'000);
      CHECK(first.renew(client) == lock::Renewal::renewed);
      CHECK(told(server, sample.field) == 30'000);
      CHECK(nested.renew(client) == lock::Renewal::renewed);
      CHECK(told(server, sample.field) == 600'000);
    }
  }
}
