// A wait of more than a minute, which nothing shortens: alone in its file, beside all others.
// Labels: long
#include <algorithm>

#include <doctest/doctest.h>

#include "support/process.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

TEST_CASE("with -v a wait without a terminal is told again after a minute, and not before") {
  const Server server;
  server.command({"HSET", "job", "other:1", "1"});
  server.command({"PEXPIRE", "job", "3600000"});
  const auto start = std::chrono::steady_clock::now();
  Process waiter(
      rlock_argv("exec", "-v", "-w", "1h", "-r", server.unix_url(), "job", "--", "true"));
  waiter.wait_for_stderr("rlock: job: waiting (");
  waiter.wait_for_stderr("\nrlock: job: waiting 1m", 150s);
  CHECK(std::chrono::steady_clock::now() - start >= 60s);
  CHECK(has(waiter.err(), "left) for other:1\n"));
  CHECK(std::count(waiter.err().begin(), waiter.err().end(), '\n') <= 2);
}
