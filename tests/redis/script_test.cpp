#include "redis/script.hpp"

#include <doctest/doctest.h>

#include "lua_scripts.hpp"
#include "support/server.hpp"

using namespace rlock;

TEST_CASE("the SHA1 of every embedded script is the one the server computes") {
  test::Server server;
  for (const redis::Script& script :
       {lua::acquire::script, lua::acquire_fair::script, lua::reenter::script, lua::renew::script,
        lua::release::script, lua::force_release::script, lua::evict::script,
        lua::snapshot::script}) {
    CAPTURE(script.name);
    CHECK(server.command({"SCRIPT", "LOAD", std::string(script.text)}) == script.sha1);
  }
}
