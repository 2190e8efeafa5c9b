#include "redis/script.hpp"

#include <doctest/doctest.h>

#include "lua_scripts.hpp"
#include "support/server.hpp"

using namespace rlock;

TEST_CASE("the SHA1 of every embedded script is the one the server computes") {
  test::Server server;
  for (const redis::Script& script :
       {lua::acquire, lua::acquire_fair, lua::reenter, lua::renew, lua::release, lua::force_release,
        lua::evict, lua::snapshot}) {
    CAPTURE(script.name);
    CHECK(server.command({"SCRIPT", "LOAD", std::string(script.text)}) == script.sha1);
  }
}
