// The helpers themselves: bad networks and bad servers.
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fake_server.hpp"
#include "net.hpp"
#include "proxy.hpp"
#include "resp.hpp"
#include "server.hpp"
#include "wait_until.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

TEST_CASE("support: the proxy loses, holds and delays what it should") {
  Server server;
  Proxy proxy(server.unix_path());
  const auto client = [&] { return RespClient(connect_loopback(proxy.port())); };
  RespClient one = client();
  CHECK(one.call({"SET", "k", "*3\r\n$3\r\nSET\r\n"}) == Strings{"OK"});
  CHECK(one.call({"GET", "k"}) == Strings{"*3\r\n$3\r\nSET\r\n"});
  CHECK(proxy.requests() == 2);
  CHECK(proxy.connections() == 1);
  CHECK(proxy.bytes_to_client() == 25);

  proxy.cut_after_next_request("INCR");
  CHECK(one.call({"PING"}) == Strings{"PONG"});
  CHECK_THROWS_WITH_AS(one.call({"INCR", "n"}), "redis: connection closed", std::runtime_error);
  CHECK(proxy.cuts() == 1);
  CHECK(server.command({"GET", "n"}) == "1");

  RespClient two = client();
  CHECK(two.call({"INCR", "n"}) == Strings{"2"});
  proxy.set_mode(Mode::swallow_replies);
  CHECK_THROWS_WITH_AS(two.call({"INCR", "n"}, 50ms), "redis: no reply in time",
                       std::runtime_error);
  CHECK(wait_until([&] { return server.command({"GET", "n"}) == "3"; }));
  proxy.cut();
  CHECK(proxy.open_connections() == 0);
  CHECK_THROWS_WITH_AS(two.call({"PING"}), doctest::Contains("redis: c"), std::runtime_error);

  proxy.set_mode(Mode::blackhole);
  RespClient three = client();
  CHECK_THROWS_WITH_AS(three.call({"INCR", "n"}, 50ms), "redis: no reply in time",
                       std::runtime_error);
  CHECK(server.command({"GET", "n"}) == "3");
  proxy.set_mode(Mode::refuse);
  CHECK_THROWS_WITH_AS(three.call({"PING"}), doctest::Contains("redis: c"), std::runtime_error);
  RespClient four = client();
  CHECK_THROWS_WITH_AS(four.call({"PING"}), doctest::Contains("redis: c"), std::runtime_error);

  proxy.set_mode(Mode::pass);
  proxy.set_delay(100ms);
  RespClient five = client();
  const auto before = std::chrono::steady_clock::now();
  CHECK(five.call({"PING"}) == Strings{"PONG"});
  CHECK(std::chrono::steady_clock::now() - before >= 100ms);
  proxy.set_delay(0ms);
  CHECK(five.call({"ECHO", std::string(5'000'000, '*')}).at(0).size() == 5'000'000);
  server.stop();
  CHECK_THROWS_AS(five.call({"PING"}), std::runtime_error);
}

TEST_CASE("support: commands are counted over the boundaries of pieces") {
  const std::string text = "PING\r\n*2\r\n$3\r\nGET\r\n$4\r\n*1\r\n\r\n*1\r\n$4\r\nPING\r\n";
  RequestCounter counter;
  std::size_t commands = 0;
  for (const char byte : text) {
    commands += counter.feed({&byte, 1});
  }
  CHECK(commands == 2);
  CHECK_FALSE(counter.inside());
  CHECK(RequestCounter().feed(text) == 2);
}

TEST_CASE("support: a fake server says what it is told") {
  FakeServer garbage("+ga\r\n", true);
  RespClient one(connect_loopback(garbage.port()));
  CHECK(one.call({"PING"}) == Strings{"ga"});
  CHECK_THROWS_AS(one.call({"PING"}), std::runtime_error);
  CHECK(garbage.received().starts_with("*1\r\n$4\r\nPING\r\n"));

  FakeServer endless({.replies = {"+OK\r\n", "$1073741824\r\n"}, .stream = true});
  {
    RespClient two(connect_loopback(endless.port()));
    CHECK(two.call({"AUTH", "x"}) == Strings{"OK"});
    CHECK_THROWS_AS(two.call({"GET", "x"}, 100ms), std::runtime_error);
    CHECK(wait_until([&] { return endless.sent() > 100'000; }));
  }
  CHECK(wait_until([&] { return endless.open_connections() == 0; }));

  FakeServer slow({.replies = {"+slow\r\n"}, .drip = 20ms});
  RespClient three(connect_loopback(slow.port()));
  CHECK_THROWS_AS(three.call({"PING"}, 50ms), std::runtime_error);
  CHECK(wait_until([&] { return slow.sent() == 7; }));

  FakeServer silent;
  RespClient four(connect_loopback(silent.port()));
  CHECK_THROWS_AS(four.call({"PING"}, 20ms), std::runtime_error);
  CHECK(wait_until([&] { return silent.connections() == 1; }));
}
