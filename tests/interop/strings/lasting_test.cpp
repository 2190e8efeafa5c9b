// redis-py's default: a lock without an expiry.
#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "string_fixture.hpp"

using namespace rlock::test;

TEST_CASE_FIXTURE(StringFixture,
                  "a lock of theirs without an expiry is waited for, with a warning") {
  const std::string theirs = peer.acquire("job", 0);
  REQUIRE_FALSE(theirs.empty());
  CHECK(ttl() == -1);
  const auto waiter = start();
  waiter->wait_for_stderr("\n");
  CHECK(waiter->err().starts_with("rlock: job: held without an expiry by " + theirs +
                                  ": it will not end by itself; if its holder is gone: rlock "));
  CHECK(waiter->err().ends_with(" unlock --force --kind simple job\n"));
  REQUIRE(peer.ask("release job") == "yes");
  waiter->wait_for_stdout("ready");
  waiter->close_stdin();
  CHECK(waiter->wait().status == 0);
  CHECK(std::count(waiter->err().begin(), waiter->err().end(), '\n') == 1);
  CHECK(is_clean());
}
