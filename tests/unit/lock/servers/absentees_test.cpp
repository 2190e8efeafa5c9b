#include "lock/servers/absentees.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "redis/server_error.hpp"

using namespace rlock;
using Which = lock::Absentees::Which;

TEST_CASE("servers that take no part are told once, with their URLs") {
  lock::Absentees absentees;
  const auto note = [&](std::size_t server, const Error& error) {
    try {
      throw error;
    } catch (const Error&) {
      (void)absentees.note_failure(server);
    }
  };
  absentees.set_name(0, "redis://a");
  absentees.set_name(1, "redis://b");
  note(0, redis::Unavailable("redis://a: away"));
  note(1, Error(ExitStatus::permission, "no right"));
  absentees.note_run(2, "run");
  CHECK_FALSE(absentees.twins());
  absentees.note_run(3, "run");
  CHECK(absentees.twins() == "server 3 and server 4 are one and the same");
  CHECK(absentees.news(Which::lasting) ==
        std::vector<std::string>{"server 2 (redis://b) takes no part: no right",
                                 "server 3 and server 4 are one and the same"});
  CHECK(absentees.news(Which::all) ==
        std::vector<std::string>{"server 1 takes no part: redis://a: away"});
  CHECK(absentees.news(Which::all).empty());
}
