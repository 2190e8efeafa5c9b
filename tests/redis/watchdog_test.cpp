// Watchdog: renews, says what is lost, and stops.
// Labels: watchdog
#include "lock/holding/watchdog.hpp"

#include <atomic>
#include <exception>
#include <string>
#include <variant>

#include <doctest/doctest.h>

#include "lock/kinds/plain.hpp"
#include "lock/kinds/single_server_lock.hpp"
#include "redis/client.hpp"
#include "redis/server_error.hpp"
#include "redis/url.hpp"
#include "support/proxy.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"

using namespace rlock;
using lock::Watchdog;

namespace {

// A lock that is held, and its watchdog.
struct Guarded {
  Guarded(const std::string& url, Milliseconds lease, Milliseconds reserve = {})
      : lock(lock::plain_operations("job"), "u:1", {}, lease) {
    redis::ClientOptions options;
    options.endpoint = redis::parse_url(url);
    options.timeout = Milliseconds(30'000);  // a busy machine is slow
    redis::Client client(options);
    const auto answer = lock.try_acquire(client, lock::Join::no);
    REQUIRE(std::holds_alternative<lock::Hold>(answer));
    Watchdog::Options how;
    how.session = options;
    how.reserve = [reserve] { return reserve; };
    how.on_renewed = [this](const lock::Lock&, TimePoint) { ++renewals; };
    how.on_verdict = [this] { ++verdicts; };
    how.on_checked = [this] { ++checks; };
    watchdog.emplace(std::move(how));
    watchdog->keep(lock, std::get<lock::Hold>(answer));
  }

  lock::SingleServerLock lock;
  std::atomic<int> renewals = 0;
  std::atomic<int> verdicts = 0;
  std::atomic<int> checks = 0;
  std::optional<Watchdog> watchdog;
};

}  // namespace

TEST_CASE("watchdog: keeps a lock beyond its first lease") {
  test::Server server;
  Guarded guarded(server.unix_url(), Milliseconds(6000));
  CHECK(test::wait_until([&] { return guarded.renewals >= 4; }));
  CHECK(server.command({"HGET", "job", "u:1"}) == "1");
  CHECK(guarded.verdicts == 0);
  guarded.watchdog->stop();
  CHECK_FALSE(guarded.watchdog->verdict());
}

TEST_CASE("S4: watchdog: a lock that is gone or another's is lost" * doctest::test_suite("S4")) {
  test::Server server;
  Guarded guarded(server.unix_url(), Milliseconds(9000));
  SUBCASE("deleted") { server.command({"DEL", "job"}); }
  SUBCASE("stolen") {
    server.command({"DEL", "job"});
    server.command({"HSET", "job", "u:2", "1"});
  }
  CHECK(test::wait_until([&] { return guarded.verdicts == 1; }));
  REQUIRE(guarded.watchdog->verdict());
  CHECK(guarded.watchdog->verdict()->kind == Watchdog::Verdict::Kind::lost);
  CHECK(server.command({"HEXISTS", "job", "u:1"}) == "0");
}

TEST_CASE("S3: watchdog: says that a lease is about to end when renewals fail, and why" *
          doctest::test_suite("S3")) {
  test::Server server;
  Guarded guarded(server.unix_url(), Milliseconds(6000));
  server.stop();
  CHECK(test::wait_until([&] { return guarded.verdicts == 1; }));
  REQUIRE(guarded.watchdog->verdict());
  CHECK(guarded.watchdog->verdict()->kind == Watchdog::Verdict::Kind::expiring);
  REQUIRE(guarded.watchdog->verdict()->why);
  CHECK_THROWS_AS(std::rethrow_exception(guarded.watchdog->verdict()->why), redis::Unavailable);
}

TEST_CASE(
    "S3: watchdog: an interruption of the network that is shorter than the lease is survived" *
    doctest::test_suite("S3")) {
  test::Server server;
  test::Proxy proxy(server.port());
  Guarded guarded(proxy.url(), Milliseconds(60'000));
  const auto asked = [&] { return server.command({"PTTL", "job"}); };
  CHECK(std::stol(asked()) > 0);
  proxy.cut();
  CHECK(guarded.verdicts == 0);
  guarded.watchdog->stop();
}

TEST_CASE("watchdog: stops at once, also while the server does not answer, and may stop twice") {
  test::Server server;
  Guarded guarded(server.unix_url(), Milliseconds(30'000));
  server.pause();
  guarded.watchdog->stop();
  guarded.watchdog->stop();
  CHECK(guarded.verdicts == 0);
  server.resume();
}

TEST_CASE("watchdog: one keeps several locks, also those that come later, and names the lost one") {
  test::Server server;
  Guarded guarded(server.unix_url(), Milliseconds(4500));
  lock::SingleServerLock other(lock::plain_operations("other"), "u:1", {}, Milliseconds(4500));
  redis::ClientOptions options;
  options.endpoint = redis::parse_url(server.unix_url());
  redis::Client client(options);
  CHECK(test::wait_until([&] { return guarded.renewals >= 2; }));
  const auto answer = other.try_acquire(client, lock::Join::no);
  guarded.watchdog->keep(other, std::get<lock::Hold>(answer));
  const int before = guarded.renewals;
  CHECK(test::wait_until([&] { return guarded.renewals >= before + 8; }));
  CHECK(server.command({"HGET", "job", "u:1"}) == "1");
  CHECK(server.command({"HGET", "other", "u:1"}) == "1");
  server.command({"DEL", "other"});
  CHECK(test::wait_until([&] { return guarded.verdicts == 1; }));
  CHECK(guarded.watchdog->verdict()->lock == &other);
}

TEST_CASE("S3: watchdog: that one lock is waited for takes no time from another's end" *
          doctest::test_suite("S3")) {
  test::Server server;
  Guarded guarded(server.unix_url(), Milliseconds(12'000), Milliseconds(4000));
  const TimePoint asked = BootClock::now();
  lock::SingleServerLock other(lock::plain_operations("other"), "u:1", {}, Milliseconds(60'000));
  redis::ClientOptions options;
  options.endpoint = redis::parse_url(server.unix_url());
  redis::Client client(options);
  auto hold = std::get<lock::Hold>(other.try_acquire(client, lock::Join::no));
  hold.deadline -= Milliseconds(19'000);  // so it is renewed after one second
  server.pause();
  guarded.watchdog->keep(other, hold);
  CHECK(test::wait_until([&] { return guarded.verdicts == 1; }, Milliseconds(60'000)));
  CHECK(BootClock::now() < asked + Milliseconds(11'000));  // no lock is let end without a word
  CHECK(guarded.watchdog->verdict()->lock == &guarded.lock);
  guarded.watchdog->stop();  // it keeps `other`
  server.resume();
}

TEST_CASE("watchdog: renews sooner where most of the lease is reserved for ending the command") {
  test::Server server;
  const Milliseconds lease(60'000);
  Milliseconds reserve{};
  SUBCASE("nothing is left before the time to give up: each twentieth of the lease") {
    reserve = lease;
  }
  SUBCASE("a little is left: after two thirds of it") { reserve = Milliseconds(54'000); }
  Guarded usual(server.unix_url(), lease);
  Guarded sooner(server.unix_url(), lease, reserve);
  CHECK(test::wait_until([&] { return sooner.renewals >= 2; }));
  CHECK(usual.renewals == 0);  // a third of the lease
  CHECK(sooner.verdicts == 0);
}

TEST_CASE("S8: watchdog: a check is over once, when the server has answered for every lock" *
          doctest::test_suite("S8")) {
  test::Server server;
  const Milliseconds lease(3'600'000);  // no renewal is due
  Guarded guarded(server.unix_url(), lease);
  lock::SingleServerLock other(lock::plain_operations("other"), "u:1", {}, lease);
  redis::ClientOptions options;
  options.endpoint = redis::parse_url(server.unix_url());
  redis::Client client(options);
  const auto answer = other.try_acquire(client, lock::Join::no);
  guarded.watchdog->keep(other, std::get<lock::Hold>(answer));
  guarded.watchdog->check();
  CHECK(test::wait_until([&] { return guarded.checks == 1; }));
  CHECK(guarded.renewals == 2);
  guarded.watchdog->check();
  CHECK(test::wait_until([&] { return guarded.checks == 2; }));
  CHECK(guarded.renewals == 4);
  CHECK(guarded.verdicts == 0);
}

TEST_CASE("S8: watchdog: checks may be asked for at any moment" * doctest::test_suite("S8")) {
  test::Server server;
  Guarded guarded(server.unix_url(), Milliseconds(3'600'000));
  for (int asked = 0; asked < 300; ++asked) {
    const int before = guarded.renewals;
    guarded.watchdog->check();
    // Now and then it is renewing, or looks at what is due next.
    if (asked % 3 == 0) CHECK(test::wait_until([&] { return guarded.renewals > before; }));
  }
  CHECK(test::wait_until([&] { return guarded.checks > 0; }));
  CHECK(guarded.verdicts == 0);
}
