// Client: sending again, what was left unanswered, and being interrupted.
#include "redis/client.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "base/fd.hpp"
#include "lock/words/key_names.hpp"
#include "lua_scripts.hpp"
#include "redis/server_error.hpp"
#include "redis/url.hpp"
#include "support/fake_server.hpp"
#include "support/net.hpp"
#include "support/proxy.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock;
using namespace std::chrono_literals;
using test::has;

namespace {

redis::ClientOptions options_for(const std::string& url,
                                 Milliseconds timeout = Milliseconds(30'000)) {
  redis::ClientOptions options;
  options.endpoint = redis::parse_url(url);
  options.timeout = timeout;
  return options;
}

// A request that changes nothing: is the lock "u:1"'s?
const lua::renew::Call k_ask{.lock = Key("job"),
                             .lease = Milliseconds(0),
                             .owner = "u:1",
                             .info = Key("rlock_info:{job}"),
                             .latch = std::nullopt};

redis::ScriptCall snapshot_of(const std::string& name) {
  const lock::KeyNames keys(name);
  return lua::snapshot::Call{.lock = keys.lock,
                             .info = keys.info,
                             .queue = keys.queue,
                             .scores = keys.scores,
                             .token = keys.token,
                             .channel = keys.channel,
                             .prefix = keys.reader_prefix,
                             .most = -1,
                             .permits = keys.permits,
                             .rw_channel = keys.read_write_channel,
                             .semaphore_channel = keys.semaphore_channel,
                             .is_cluster = false};
}

std::string ping() { return "*1\r\n$4\r\nPING\r\n"; }

// Returns how often the server has read something.
long reads(const test::Server& server) {
  const std::string stats = server.command({"INFO", "stats"});
  const std::string key = "total_reads_processed:";
  return std::stol(stats.substr(stats.find(key) + key.size()));
}

}  // namespace

TEST_CASE("client: a script that the server does not know is sent by its text") {
  test::Server server;
  redis::Client client(options_for(server.unix_url()));
  for (int i = 0; i < 2; ++i) {
    CHECK(client.run(k_ask).as_integer() == 0);
    server.command({"SCRIPT", "FLUSH"});
  }
}

TEST_CASE("client: a request whose reply is lost is sent again and counted as unanswered") {
  test::Server server;
  test::Proxy proxy(server.port());
  redis::Client client(options_for(proxy.url()));
  CHECK(client.run(k_ask).as_integer() == 0);
  proxy.cut_after_next_request("EVALSHA");
  int unanswered = 0;
  CHECK(client.run(k_ask, &unanswered).as_integer() == 0);
  CHECK(unanswered == 1);
  CHECK(proxy.cuts() == 1);
}

TEST_CASE("client: survives a restart, and waits for a server that comes back in time") {
  test::Server server;
  redis::Client client(options_for(server.tcp_url(), Milliseconds(60'000)));
  CHECK(client.run(k_ask).as_integer() == 0);
  server.stop();
  std::int64_t answer = -1;
  std::thread context([&] {
    try {
      answer = client.run(k_ask).as_integer();
    } catch (const Error&) {  // then there is no answer
    }
  });
  server.start();
  context.join();
  CHECK(answer == 0);
}

TEST_CASE("client: a server that never was there is not waited for") {
  redis::Client client(options_for("unix:///nonexistent.sock", Milliseconds(3'600'000)));
  CHECK_THROWS_AS(client.run(k_ask), redis::Unavailable);
}

TEST_CASE("client: the timeout bounds a request") {
  const test::FakeServer server;
  redis::Client client(options_for(server.url()));
  int unanswered = 0;
  // Nothing is sent where this process has to wait for longer than that: then once more.
  for (Milliseconds bound(100); unanswered == 0 && bound < Milliseconds(30'000); bound *= 10) {
    client.set_timeout(bound);
    CHECK_THROWS_AS(client.run(k_ask, &unanswered), redis::Unavailable);
  }
  CHECK(unanswered == 1);
}

TEST_CASE("client: not a byte is sent after the deadline, nor is a connection made") {
  test::Server server;
  test::Proxy proxy(server.port());
  redis::Client client(options_for(proxy.url(), Milliseconds(3'600'000)));
  const auto check_silence = [&] {
    const std::size_t bytes = proxy.bytes_to_server();
    const std::size_t connections = proxy.connections();
    int unanswered = 0;
    CHECK_THROWS_AS(client.run(k_ask, &unanswered, BootClock::now()), redis::Unavailable);
    client.set_timeout(Milliseconds(0));
    CHECK_THROWS_AS(client.run(k_ask, &unanswered), redis::Unavailable);
    CHECK_THROWS_AS((void)client.command({"PING"}), redis::Unavailable);
    CHECK_THROWS_AS((void)client.commands({{"PING"}}), redis::Unavailable);
    CHECK_THROWS_AS((void)client.run_all({snapshot_of("job")}), redis::Unavailable);
    client.set_timeout(Milliseconds(3'600'000));
    CHECK(unanswered == 0);
    // What comes next overtakes nothing.
    if (connections > 0) CHECK(client.command({"PING"}).as_text() == "PONG");
    CHECK(proxy.bytes_to_server() == bytes + (connections > 0 ? ping().size() : 0));
    CHECK(proxy.connections() == connections);
  };
  check_silence();
  CHECK(client.run(k_ask).as_integer() == 0);
  check_silence();
}

TEST_CASE("client: what is on its way on a connection that was given up is thrown away") {
  std::uint16_t port = 0;
  const test::UniqueFd listener = test::listen_loopback(port);
  redis::Client client(options_for("redis://127.0.0.1:" + std::to_string(port), 100ms));
  CHECK_THROWS_AS((void)client.command({"INCR", "n"}), redis::Unavailable);
  CHECK_THROWS_AS((void)client.command({"PING"}), redis::Unavailable);  // on a new connection
  const test::UniqueFd first(::accept(listener.get(), nullptr, nullptr));
  REQUIRE(first.get() >= 0);
  std::array<char, 4096> buffer{};
  ssize_t got = 1;
  while (got > 0) got = ::recv(first.get(), buffer.data(), buffer.size(), 0);
  CHECK(got == -1);  // reset: 0 would be a regular end, behind which the kernel goes on to deliver
  CHECK(errno == ECONNRESET);
}

TEST_CASE(
    "client: a last try that has hardly any time does not hide why the one before it failed") {
  bool is_tried_again = false;
  // Not where this process has to wait for so long that the first try is the last one.
  for (int i = 0; i < 100 && !is_tried_again; ++i) {
    std::uint16_t port = 0;
    const test::UniqueFd listener = test::listen_loopback(port);
    // The first connection ends behind the request, nobody answers the second one.
    std::atomic<bool> has_ended = false;
    std::thread first([&] {
      const test::UniqueFd connection(::accept(listener.get(), nullptr, nullptr));
      std::array<char, 64> request{};
      has_ended = ::recv(connection.get(), request.data(), request.size(), 0) > 0 &&
                  ::shutdown(connection.get(), SHUT_WR) == 0;
      // What is left unread would make it a reset.
      while (::recv(connection.get(), request.data(), request.size(), 0) > 0) continue;
    });
    redis::Client client(options_for("redis://127.0.0.1:" + std::to_string(port), 200ms));
    std::string why;
    try {
      (void)client.command({"PING"});
    } catch (const redis::Unavailable& error) {
      why = error.what();
    }
    pollfd second{listener.get(), POLLIN, 0};
    is_tried_again = has_ended && ::poll(&second, 1, 0) == 1;
    ::shutdown(listener.get(), SHUT_RDWR);
    first.join();
    CAPTURE(why);
    if (is_tried_again) CHECK(has(why, "closed the connection"));
  }
  CHECK(is_tried_again);
}

TEST_CASE("client: its wake descriptor ends a request") {
  const test::FakeServer server;
  const Event wake;
  redis::ClientOptions options = options_for(server.url(), Milliseconds(3'600'000));
  options.wake_fd = wake.fd();
  redis::Client client(options);
  wake.raise();
  int unanswered = 0;
  CHECK_THROWS_AS(client.run(k_ask, &unanswered), redis::Interrupted);
}

TEST_CASE("client: an error reply is no lost connection") {
  test::Server server;
  redis::Client client(options_for(server.unix_url()));
  // snapshot.lua takes five keys.
  CHECK_THROWS_AS(client.run({lua::snapshot::script, {"job"}, {}}), redis::ServerError);
  CHECK(client.run(k_ask).as_integer() == 0);
  CHECK(has(server.command({"INFO", "stats"}), "total_connections_received:"));
}

TEST_CASE("client: what is sent behind a request is carried out after it") {
  test::Server server;
  redis::Client client(options_for(server.unix_url()));
  CHECK_FALSE(client.send_pipelined({"SET", "x", "1"}));  // there is no connection yet
  CHECK(client.run(k_ask).as_integer() == 0);
  CHECK(client.send_pipelined({"SET", "x", "1"}));
  CHECK(client.send_pipelined({"APPEND", "x", "2"}));
  client.close_gently(Milliseconds(10'000));
  CHECK(test::wait_until([&] { return server.command({"GET", "x"}) == "12"; }));
  CHECK(client.run(k_ask).as_integer() == 0);
}

TEST_CASE("client: a script that only reads runs where the server lets it not write") {
  test::Server server;
  redis::Client client(options_for(server.unix_url()));
  CHECK(client.run(snapshot_of("job")).as_array().size() > 1);
  CHECK(has(server.command({"INFO", "commandstats"}), "cmdstat_evalsha_ro:"));
  CHECK_FALSE(has(server.command({"INFO", "commandstats"}), "cmdstat_evalsha:"));
}

TEST_CASE("client: a script that only reads runs where there is no, or no right to, EVALSHA_RO") {
  test::ServerOptions options;
  SUBCASE("unknown, as before Redis 7") {
    options.args = {"--rename-command", "EVALSHA_RO", "", "--rename-command", "EVAL_RO", ""};
  }
  SUBCASE("forbidden") {
    options.args = {"--user", "default", "on", "nopass", "~*", "&*", "+@all", "-evalsha_ro"};
  }
  test::Server server(options);
  redis::Client client(options_for(server.unix_url()));
  CHECK(client.run(snapshot_of("job")).as_array().size() > 1);
  CHECK(client.run_all({snapshot_of("job")}).at(0).as_array().size() > 1);
}

TEST_CASE("client: many calls of a script are answered in order, also one not loaded yet") {
  test::Server server;
  std::vector<redis::ScriptCall> calls;
  for (int i = 0; i < 500; ++i) {
    server.command({"SET", "job" + std::to_string(i), std::to_string(i)});
    calls.push_back(snapshot_of("job" + std::to_string(i)));
  }
  redis::Client client(options_for(server.unix_url()));
  for (int round = 0; round < 2; ++round) {
    const long before = reads(server);
    const std::vector<redis::Reply> replies = client.run_all(calls);
    // Not one by one.
    CHECK(reads(server) - before < 250);
    REQUIRE(replies.size() == calls.size());
    for (std::size_t i = 0; i < replies.size(); ++i) {
      CHECK(replies[i].as_array(4)[3].as_array(1)[0].as_text() == std::to_string(i));
    }
  }
  CHECK(client.command({"PING"}).as_text() == "PONG");
}

TEST_CASE("client: calls that are forbidden do not spoil others of a script not loaded yet") {
  test::Server server;
  server.command({"ACL", "SETUSER", "default", "resetkeys", "~*b*", "~x"});
  redis::Client client(options_for(server.unix_url()));
  const auto replies =
      client.run_all({snapshot_of("a"), snapshot_of("b"), snapshot_of("c"), snapshot_of("bb")});
  REQUIRE(replies.size() == 4);
  for (const std::size_t i : {0U, 2U}) CHECK(replies[i].text.starts_with("NOPERM"));
  for (const std::size_t i : {1U, 3U}) CHECK(replies[i].type == redis::Reply::Type::array);
}

TEST_CASE("client: a command is sent again after a lost reply, and its error is a reply") {
  test::Server server;
  test::Proxy proxy(server.port());
  redis::Client client(options_for(proxy.url()));
  CHECK(client.command({"GET", "a"}).is_nil());
  proxy.cut_after_next_request("PING");
  CHECK(client.command({"PING"}).as_text() == "PONG");
  CHECK(proxy.cuts() == 1);
  CHECK(client.command({"NONSENSE"}).type == redis::Reply::Type::error);
}
