// S3: nothing of the command is left when a lease ends that could not be renewed.
// Labels: watchdog
#include <chrono>
#include <functional>
#include <memory>

#include <doctest/doctest.h>

#include "cli/lease/family.hpp"
#include "support/proxy.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

TEST_CASE("S3: when the server goes away, all that CMD started is dead before the lease ends" *
          doctest::test_suite("S3")) {
  Server server;
  const auto proxy = std::make_unique<Proxy>(server.port());
  std::function<void()> cut;
  SUBCASE("killed") {
    cut = [&] { server.stop(); };
  }
  SUBCASE("paused") {
    cut = [&] { server.pause(); };
  }
  SUBCASE("black hole") {
    cut = [&] { proxy->set_mode(Mode::blackhole); };
  }
  SUBCASE("connections refused") {
    cut = [&] { proxy->set_mode(Mode::refuse); };
  }

  // 0.3 s before its end all must be killed, which takes a busy machine a while.
  Family family(server, proxy->url(), {"--lease", "6s", "--timeout", "2s"});
  const double lease_end = cut_off(server, 6, cut);
  const Result result = family.rlock().wait_exit();
  CHECK(family.alive().empty());
  CHECK(result.status == 79);
  CAPTURE(result.err);
  CHECK(result.err.starts_with("rlock: job: lock lost: "));
  CHECK(family.last_beat() < lease_end);
  server.resume();
}
