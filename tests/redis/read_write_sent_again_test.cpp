// S6: requests for read/write locks that are sent again.
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "redis/read_write_fixture.hpp"
#include "support/resp.hpp"
#include "support/script_calls.hpp"

using namespace rlock;
using namespace rlock::test::read_write;
using lock::SingleServerLock;
using test::Words;

namespace {

using Side = decltype(lua::release_read_write::Call::side);

// Sends the request, and returns its answer.
long long reenter(Setting& set, Side side) {
  const lock::KeyNames& keys = test::k_job;
  const lua::reenter_read_write::Call call{.lock = keys.lock,
                                           .latch = keys.latch("a"),
                                           .info = keys.info,
                                           .token = std::nullopt,
                                           .lease = Milliseconds(30'000),
                                           .owner = "u:1",
                                           .memory = Milliseconds(30'000),
                                           .fencing = "off",
                                           .prefix = keys.reader_prefix,
                                           .side = side};
  return set.client.run(call).as_array(1)[0].as_integer();
}

// Sends the request, and returns its answer.
long long release(Setting& set, Side side) {
  const lock::KeyNames& keys = test::k_job;
  const lua::release_read_write::Call call{.lock = keys.lock,
                                           .channel = keys.read_write_channel,
                                           .info = keys.info,
                                           .latch = keys.latch("a"),
                                           .owner = "u:1",
                                           .memory = Milliseconds(30'000),
                                           .keep = Milliseconds(0),
                                           .prefix = keys.reader_prefix,
                                           .standing = "unproven",
                                           .side = side,
                                           .is_shared = false};
  return set.client.run(call).as_array(1)[0].as_integer();
}

}  // namespace

TEST_CASE("S6: requests that are sent again count once, and none after the release" *
          doctest::test_suite("S6")) {
  Setting set;
  const std::string latch = "redisson_unlock_latch:{job}:a";
  const lock::KeyNames& keys = test::k_job;
  SUBCASE("a reader's") {
    SingleServerLock outer = a_reader("u:1");
    for (int i = 0; i < 2; ++i) CHECK(set.takes(outer));
    CHECK(set.hash("u:1") == "1");
    for (int i = 0; i < 2; ++i) CHECK(reenter(set, "read") == 1);
    CHECK(set.hash("u:1") == "2");
    for (int i = 0; i < 2; ++i) CHECK(release(set, "read") == 0);
    CHECK(set.hash("u:1") == "1");
    CHECK(reenter(set, "read") == 2);
    CHECK(set.hash("u:1") == "1");
  }
  SUBCASE("the writer's") {
    SingleServerLock outer = a_writer("u:1");
    for (int i = 0; i < 2; ++i) CHECK(set.takes(outer));
    CHECK(set.hash("u:1:write") == "1");
    for (int i = 0; i < 2; ++i) CHECK(reenter(set, "write") == 1);
    CHECK(set.hash("u:1:write") == "2");
    for (int i = 0; i < 2; ++i) CHECK(release(set, "write") == 0);
    CHECK(set.hash("u:1:write") == "1");
    CHECK(reenter(set, "write") == 2);
  }
  SUBCASE("one that never came") {
    SingleServerLock outer = a_reader("u:1");
    CHECK(set.takes(outer));
    CHECK(release(set, "read") == 2);
    CHECK(set.hash("u:1") == "1");
  }
  SUBCASE("a late one to take the lock") {
    const lua::acquire_read::Call read{.lock = keys.lock,
                                       .info = keys.info,
                                       .latch = keys.latch("a"),
                                       .lease = Milliseconds(30'000),
                                       .owner = "u:1",
                                       .about_json = "",
                                       .prefix = keys.reader_prefix};
    const lua::acquire_write::Call write{.lock = keys.lock,
                                         .info = keys.info,
                                         .latch = keys.latch("a"),
                                         .token = std::nullopt,
                                         .lease = Milliseconds(30'000),
                                         .owner = "u:1",
                                         .about_json = "",
                                         .fencing = "off",
                                         .prefix = keys.reader_prefix};
    for (const redis::ScriptCall& call : {redis::ScriptCall(read), redis::ScriptCall(write)}) {
      set.server.command({"SET", latch, "1"});
      const auto reply = set.client.run(call);
      CHECK(reply.as_array(1)[0].as_integer() == 2);
      CHECK(set.server.keys() == Words{latch});
    }
  }
}
