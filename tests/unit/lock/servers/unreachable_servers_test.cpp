#include "lock/servers/unreachable_servers.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "redis/server_error.hpp"

using namespace rlock;
using Which = lock::UnreachableServers::Which;

TEST_CASE("servers that take no part are told once, with their URLs") {
  lock::UnreachableServers unreachable;
  const auto note = [&](std::size_t server, const Error& error) {
    try {
      throw error;
    } catch (const Error&) {
      (void)unreachable.note_failure(server);
    }
  };
  unreachable.set_name(0, "redis://a");
  unreachable.set_name(1, "redis://b");
  note(0, redis::Unavailable("redis://a: away"));
  note(1, Error(ExitStatus::permission, "no right"));
  unreachable.note_run(2, "run");
  CHECK_FALSE(unreachable.twins());
  unreachable.note_run(3, "run");
  CHECK(unreachable.twins() == "server 3 and server 4 are one and the same");
  CHECK(unreachable.changes(Which::lasting) ==
        std::vector<std::string>{"server 2 (redis://b) takes no part: no right",
                                 "server 3 and server 4 are one and the same"});
  CHECK(unreachable.changes(Which::all) ==
        std::vector<std::string>{"server 1 takes no part: redis://a: away"});
  CHECK(unreachable.changes(Which::all).empty());
}
