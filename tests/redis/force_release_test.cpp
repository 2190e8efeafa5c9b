// force_release.lua
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "lua_scripts.hpp"
#include "redis/lock_fixture.hpp"
#include "support/net.hpp"
#include "support/resp.hpp"
#include "support/wait_until.hpp"

using namespace rlock;
using test::client_of;
using test::Words;

TEST_CASE("force_release: breaks the lock, tells the waiters and names the owners") {
  test::Server server;
  redis::Client client = client_of(server);
  test::RespClient listener(test::connect_unix(server.unix_path()));
  listener.call({"SUBSCRIBE", "redisson_lock__channel:{job}"});
  server.command({"HSET", "job", "u:1", "7"});
  server.command({"HSET", "rlock_info:{job}", "u:1", "{}"});
  const auto owners = lock::force_release(client, "job");
  REQUIRE(owners);
  CHECK(*owners == Words{"u:1"});
  CHECK(listener.call({"PING"}) == Words{"message", "redisson_lock__channel:{job}", "0"});
  CHECK(test::wait_until([&] { return server.keys().empty(); }));
}

TEST_CASE("force_release: of a free lock says so and changes nothing") {
  test::Server server;
  redis::Client client = client_of(server);
  CHECK_FALSE(lock::force_release(client, "job"));
  CHECK(server.keys().empty());
}

TEST_CASE("force_release: leaves other kinds of lock alone") {
  test::Server server;
  redis::Client client = client_of(server);
  const std::vector<Words> makers = {{"SET", "job", "x"},
                                     {"HSET", "job", "mode", "write", "a:1:write", "1"}};
  for (const Words& maker : makers) {
    server.command({"DEL", "job"});
    server.command(maker);
    CHECK_THROWS_AS(static_cast<void>(lock::force_release(client, "job")), Error);
    CHECK(server.command({"EXISTS", "job"}) == "1");
  }
}

TEST_CASE("S6: force_release sent again does not break the next holder's lock") {
  test::Server server;
  redis::Client client = client_of(server);
  const redis::ScriptArgs call{
      {"job", "redisson_lock__channel:{job}", "rlock_info:{job}", "redisson_unlock_latch:{job}:a",
       "redisson_lock_queue:{job}", "redisson_lock_timeout:{job}"},
      {"30000"}};
  server.command({"HSET", "job", "u:1", "1"});
  CHECK(client.run(lua::force_release, call).as_array(1)[0].as_integer() == 1);
  server.command({"HSET", "job", "u:2", "1"});
  CHECK(client.run(lua::force_release, call).as_array(1)[0].as_integer() == 1);
  CHECK(server.list({"HGETALL", "job"}) == Words{"u:2", "1"});
}
