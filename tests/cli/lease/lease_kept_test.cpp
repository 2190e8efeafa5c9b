// S3: what does the command no harm.
// Labels: watchdog quick
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "cli/lease/family.hpp"
#include "support/proxy.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

TEST_CASE("S3: an outage that ends before the deadline does no harm" * doctest::test_suite("S3")) {
  Server server;
  Proxy proxy(server.port());
  Mode mode = Mode::refuse;
  SUBCASE("refused") {}
  SUBCASE("black hole") { mode = Mode::blackhole; }
  SUBCASE("lost replies") { mode = Mode::swallow_replies; }

  Process rlock(rlock_argv("exec", "-r", proxy.url(), "--lease", "12s", "--kill-after", "100ms",
                           "--timeout", "1500ms", "job", "--", "sh", "-c", until_go(server, 5)));
  rlock.wait_for_stdout("started");
  wait_for_renewal(server);
  const std::size_t before = proxy.connections();
  proxy.set_mode(mode);
  REQUIRE(wait_until([&] { return proxy.connections() > before + 1; }));  // it has tried again
  proxy.cut();
  proxy.set_mode(Mode::pass);
  wait_for_renewal(server);
  say_go(server);
  const Result result = rlock.wait();
  CHECK(result.status == 5);
  CAPTURE(result.err);
  CHECK(result.err.empty());
  CHECK(released(server));
}

TEST_CASE("S3: a server that is restarted with its data does no harm" * doctest::test_suite("S3")) {
  Server server({.args = {"--appendonly", "yes", "--appendfsync", "always"}});
  Process rlock(rlock_argv("exec", "-r", server.unix_url(), "--lease", "9s", "--kill-after",
                           "100ms", "job", "--", "sh", "-c", until_go(server, 0)));
  rlock.wait_for_stdout("started");
  server.stop();
  server.start();
  wait_for_renewal(server);
  say_go(server);
  const Result result = rlock.wait();
  CHECK(result.status == 0);
  CAPTURE(result.err);
  CHECK(result.err.empty());
  CHECK(released(server));
}

TEST_CASE("S3: flushed scripts and killed connections do no harm" * doctest::test_suite("S3")) {
  Server server;
  Process rlock(rlock_argv("exec", "-r", server.tcp_url(), "--lease", "6s", "--kill-after", "100ms",
                           "job", "--", "sh", "-c", until_go(server, 0)));
  rlock.wait_for_stdout("started");
  for (int i = 0; i < 2; ++i) {
    server.command({"SCRIPT", "FLUSH"});
    server.command({"CLIENT", "KILL", "TYPE", "normal"});
    wait_for_renewal(server);
  }
  server.command({"SCRIPT", "FLUSH"});
  server.command({"CLIENT", "KILL", "TYPE", "normal"});
  say_go(server);
  const Result result = rlock.wait();
  CHECK(result.status == 0);
  CAPTURE(result.err);
  CHECK(result.err.empty());
  CHECK(released(server));
}
