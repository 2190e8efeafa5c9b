// A client whose master is found by sentinels.
#include <future>
#include <string>

#include <doctest/doctest.h>

#include "redis/client.hpp"
#include "redis/server_error.hpp"
#include "redis/subscription.hpp"
#include "support/fake_server.hpp"
#include "support/script_calls.hpp"
#include "support/sentinels.hpp"
#include "support/wait_until.hpp"

using namespace rlock;
using namespace std::chrono_literals;

namespace {

// Makes "job" the owner's, each time for longer, which writes. Returns 1 if that was granted.
std::int64_t acquire(redis::Client& client) {
  static int minutes = 0;
  auto call = test::acquire_call("u:1", "1");
  call.lease = std::chrono::minutes(++minutes);
  return client.run(call).as_array(1)[0].as_integer();
}

redis::ClientOptions options_of(const std::string& url, Milliseconds timeout) {
  redis::ClientOptions options;
  options.endpoint = redis::parse_url(url);
  options.timeout = timeout;
  return options;
}

redis::ClientOptions options_of(const test::Sentinels& group, Milliseconds timeout) {
  return options_of(group.url(), timeout);
}

long times_asked_for_role(const test::Server& server) {
  const std::string stats = server.command({"INFO", "commandstats"});
  const std::string key = "cmdstat_role:calls=";
  const std::size_t at = stats.find(key);
  return at == std::string::npos ? 0 : std::stol(stats.substr(at + key.size()));
}

}  // namespace

TEST_CASE("sentinel: READONLY leads to another look for the master, until the deadline") {
  test::Sentinels group({.replicas = 1, .sentinels = 1});
  test::Server& master = group.server(0);
  const std::string port = std::to_string(group.server(1).port());

  redis::Client impatient(options_of(group, 30s));
  CHECK(acquire(impatient) == 1);
  impatient.set_timeout(500ms);
  redis::Client patient(options_of(group, 30s));
  CHECK(acquire(patient) == 1);

  // The connections stay: the next request finds out.
  REQUIRE(master.command({"REPLICAOF", "127.0.0.1", port}) == "OK");
  CHECK_THROWS_AS(acquire(impatient), redis::Unavailable);
  const long asked = times_asked_for_role(master);
  auto answer = std::async(std::launch::async, [&] { return acquire(patient); });
  CHECK(test::wait_until([&] { return times_asked_for_role(master) > asked + 1; }));
  REQUIRE(master.command({"REPLICAOF", "NO", "ONE"}) == "OK");
  CHECK(answer.get() == 1);
}

TEST_CASE("sentinel: one client goes from master to master, and a subscription ends with its") {
  test::Sentinels group;
  redis::Client client(options_of(group, 30s));
  redis::Subscription subscription(client.options(), {"redisson_lock__channel:{job}"});
  CHECK(acquire(client) == 1);
  REQUIRE(test::wait_until([&] { return group.server(1).command({"EXISTS", "job"}) == "1"; }));
  group.server(0).stop();
  REQUIRE(group.wait_for_master(group.server(1)));
  CHECK(acquire(client) == 1);
  CHECK(client.find_masters().at(0).port == group.server(1).port());
  CHECK_THROWS_AS(test::wait_until([&] { return !subscription.drain().empty(); }, 30s),
                  redis::Unavailable);
}

TEST_CASE("sentinel: a master's port is a whole number") {
  for (const std::string port : {"7x", "0", "65536", ""}) {
    CAPTURE(port);
    const std::string address =
        "*2\r\n$9\r\n127.0.0.1\r\n$" + std::to_string(port.size()) + "\r\n" + port + "\r\n";
    const test::FakeServer sentinel({.replies = {"+OK\r\n*0\r\n", address}});
    redis::Client client(options_of(test::Sentinels::url_of({sentinel.port()}), 20s));
    CHECK_THROWS_WITH_AS(acquire(client), doctest::Contains("a master without a port"),
                         redis::ProtocolError);
  }
}

TEST_CASE("sentinel: a minority that was cut off does not outvote an earlier majority") {
  test::Server old;
  test::Server fresh;
  const auto stale = test::lone_sentinel(old, 9);
  const auto sentinel = test::lone_sentinel(fresh, 5);
  const auto other_sentinel = test::lone_sentinel(fresh, 5);
  const std::string url =
      test::Sentinels::url_of({stale->port(), sentinel->port(), other_sentinel->port()});
  redis::Client client(options_of(url, 20s));
  CHECK(acquire(client) == 1);
  CHECK(fresh.command({"EXISTS", "job"}) == "1");

  // What renews must not be told by the old master that it holds nothing.
  fresh.pause();
  client.set_timeout(2s);
  CHECK_THROWS_AS(acquire(client), redis::Unavailable);
  sentinel->stop();
  other_sentinel->stop();
  redis::Client other(options_of(url, 10s));
  CHECK_THROWS_WITH_AS(acquire(other), doctest::Contains("too few sentinels answer"),
                       redis::Unavailable);
  CHECK(old.keys().empty());
  fresh.resume();
}

TEST_CASE("sentinel: one that has named the master before may name the next one, alone") {
  test::Server old;
  test::Server fresh;
  const auto other = test::lone_sentinel(old, 1);
  const auto sentinel = test::lone_sentinel(old, 1);
  const std::string url = test::Sentinels::url_of({other->port(), sentinel->port()});
  redis::Client client(options_of(url, 20s));
  CHECK(acquire(client) == 1);
  CHECK(old.command({"EXISTS", "job"}) == "1");
  other->stop();
  REQUIRE(test::tell_of_failover(*sentinel, old, fresh, 2));
  redis::Client later(options_of(url, 20s));
  CHECK(acquire(later) == 1);
  CHECK(fresh.command({"EXISTS", "job"}) == "1");
}

TEST_CASE("sentinel: the same address in another spelling is the same master") {
  test::Server master;
  test::Server stale;
  const std::string port = std::to_string(master.port());
  const auto one = test::lone_sentinel(master, 1);
  const auto two = test::lone_sentinel(master, 1, "localhost");
  const auto three = test::lone_sentinel(stale, 9);
  const std::string url = test::Sentinels::url_of({three->port(), two->port(), one->port()});
  redis::Client client(options_of(url, 20s));
  CHECK(acquire(client) == 1);
  CHECK(master.command({"EXISTS", "job"}) == "1");
  const Milliseconds none{0};
  CHECK(client.confirm_master("job", none, BootClock::now() + 20s));
}
