// Connection: what it makes of a server's bytes.
#include "redis/connection.hpp"

#include <string>

#include <doctest/doctest.h>

#include "redis/server_error.hpp"
#include "redis/url.hpp"
#include "support/fake_server.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"

using namespace rlock;

namespace {

redis::Deadline deadline(int milliseconds = 30'000) {
  return {after(BootClock::now(), Milliseconds(milliseconds))};
}

redis::Connection connect(const std::string& url, std::size_t limit = redis::k_small_reply) {
  return {{redis::parse_url(url), "rlock:test:1", limit}, deadline()};
}

}  // namespace

TEST_CASE("connection: commands and replies, over a Unix socket and over TCP") {
  test::Server server;
  for (const std::string& url : {server.unix_url(), server.tcp_url()}) {
    redis::Connection connection = connect(url);
    CHECK(connection.command({"PING"}, deadline()).as_text() == "PONG");
    CHECK(connection.command({"GET", "none"}, deadline()).is_nil());
    CHECK(connection.command({"NONSENSE"}, deadline()).type == redis::Reply::Type::error);
    const std::string binary("\0\r\n\xff", 4);
    CHECK(connection.command({"ECHO", binary}, deadline()).as_text() == binary);
    const std::string large(300'000, 'x');
    CHECK(connection.command({"ECHO", large}, deadline()).as_text() == large);
    CHECK(connection.command({"CLIENT", "GETNAME"}, deadline()).as_text() == "rlock:test:1");
  }
}

TEST_CASE("connection: not a byte of a request goes out after its deadline") {
  test::Server server;
  redis::Connection connection = connect(server.unix_url());
  const redis::Deadline none{BootClock::now()};
  CHECK_THROWS_AS(static_cast<void>(connection.command({"INCR", "n"}, none)), redis::Unavailable);
  CHECK_THROWS_AS(connection.send({"INCR", "n"}, none), redis::Unavailable);
  CHECK(connection.command({"GET", "n"}, deadline()).is_nil());
}

TEST_CASE("connection: replies that nobody wants stay apart from those that somebody does") {
  test::Server server;
  redis::Connection connection = connect(server.unix_url());
  for (int i = 0; i < 5; ++i) connection.send({"INCR", "n"}, deadline());
  CHECK(connection.command({"GET", "n"}, deadline()).as_text() == "5");
  int reads = 1;
  CHECK_FALSE(connection.try_receive(reads));
}

TEST_CASE("connection: a reply above the limit is refused") {
  test::Server server;
  redis::Connection connection = connect(server.unix_url(), 1000);
  const std::string large(2000, 'x');
  CHECK_THROWS_AS(static_cast<void>(connection.command({"ECHO", large}, deadline())),
                  redis::ProtocolError);
}

TEST_CASE("connection: the end, silence and nonsense are told apart") {
  const auto ask = [](const test::FakeServer& server, int milliseconds = 30'000) {
    redis::Connection connection = connect(server.url());
    static_cast<void>(connection.command({"PING"}, deadline(milliseconds)));
  };
  const test::FakeServer silent;
  CHECK_THROWS_AS(ask(silent, 100), redis::Unavailable);
  const test::FakeServer ended("+PO", true);
  CHECK_THROWS_AS(ask(ended), redis::Unavailable);
  const test::FakeServer nonsense("HTTP/1.0 400\r\n", false);
  CHECK_THROWS_AS(ask(nonsense), redis::ProtocolError);
}

TEST_CASE("connection: refusal by password, and what a refused stranger is told") {
  test::Server server({.args = {"--requirepass", "right"}});
  const std::string port = std::to_string(server.port());
  CHECK_THROWS_AS(connect("redis://:wrong@127.0.0.1:" + port), redis::ServerError);
  redis::Connection stranger = connect(server.tcp_url());
  try {
    static_cast<void>(stranger.command(
        {"EVALSHA", "0", "0", "1", "2", "3", "4", "5", "6", "7", "8"}, deadline()));
    FAIL("no error");
  } catch (const redis::ServerError& error) {
    CHECK(error.code() == "NOAUTH");
    CHECK(error.status() == ExitStatus::permission);
  }
  CHECK_THROWS_AS(connect("redis://:right@127.0.0.1:" + port + "/9999"), redis::ServerError);
  redis::Connection friendly = connect("redis://:right@127.0.0.1:" + port + "/2");
  CHECK(friendly.command({"SET", "x", "1"}, deadline()).as_text() == "OK");
  CHECK(server.keys().empty());  // those of database 0
}

TEST_CASE("connection: an array of a billion elements takes no memory before they come") {
  const test::FakeServer server(test::FakeOptions{.replies = {"+OK\r\n*1000000000\r\n"}});
  redis::Connection connection = connect(server.url(), redis::k_large_reply);
  // Not bad_alloc, and no end of this process.
  CHECK_THROWS_AS(static_cast<void>(connection.command({"PING"}, deadline(100))), Error);
}
