// wait_for_lock, without a process around it.
#include "lock/holding/waiting.hpp"

#include <algorithm>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "base/fd.hpp"
#include "lock/kinds/plain.hpp"
#include "lock/kinds/single_server_lock.hpp"
#include "redis/client.hpp"
#include "redis/server_error.hpp"
#include "redis/url.hpp"
#include "support/script_calls.hpp"
#include "support/server.hpp"
#include "support/waiters.hpp"

using namespace rlock;

namespace {

redis::ClientOptions options_for(const test::Server& server) {
  redis::ClientOptions options;
  options.endpoint = redis::parse_url(server.unix_url());
  options.timeout = Milliseconds(30'000);  // a busy machine is slow
  return options;
}

lock::SingleServerLock make_lock(const std::string& owner) {
  return {lock::plain_operations("job"), owner, {}, Milliseconds(30'000)};
}

}  // namespace

TEST_CASE(
    "sleep_bound: until the lease ends, at most five seconds and a spread, and no busy loop") {
  using lock::sleep_bound;
  for (const unsigned spread : {0U, 500U, 999U}) {
    CHECK(sleep_bound(std::nullopt, spread) >= Milliseconds(5000));
    CHECK(sleep_bound(std::nullopt, spread) < Milliseconds(6000));
    CHECK(sleep_bound(Milliseconds(3'600'000), spread) < Milliseconds(6000));
    CHECK(sleep_bound(Milliseconds(0), spread) >= Milliseconds(50));
    CHECK(sleep_bound(Milliseconds(1), spread) >= Milliseconds(50));
    CHECK(sleep_bound(Milliseconds(2000), spread) > Milliseconds(2000));
    CHECK(sleep_bound(Milliseconds(2000), spread) < Milliseconds(2100));
  }
}

TEST_CASE("wait_for_lock: takes a free lock at once") {
  test::Server server;
  lock::Session session(options_for(server));
  lock::SingleServerLock lock = make_lock("u:1");
  CHECK(lock::wait_for_lock(lock, session, {BootClock::now()}));
  CHECK(server.command({"HGET", "job", "u:1"}) == "1");
}

TEST_CASE("wait_for_lock: gives up at its deadline, with nothing left") {
  test::Server server;
  server.command({"HSET", "job", "u:2", "1"});
  lock::Session session(options_for(server));
  lock::SingleServerLock lock = make_lock("u:1");
  int told = 0;
  // Where the first answer takes too long, nothing is left to wait for: then once more.
  for (Milliseconds span(200); told == 0 && span < Milliseconds(30'000); span *= 10) {
    lock::WaitOptions options{after(BootClock::now(), span)};
    options.on_wait = [&](const lock::Busy& busy) {
      CHECK(busy.owner == "u:2");
      ++told;
    };
    CHECK_FALSE(lock::wait_for_lock(lock, session, options));
  }
  CHECK(told >= 1);
  CHECK(server.keys() == std::vector<std::string>{"job"});
  CHECK_FALSE(lock::wait_for_lock(lock, session, {BootClock::now()}));
}

TEST_CASE("wait_for_lock: is ended by the wake descriptor, with nothing left") {
  test::Server server;
  server.command({"HSET", "job", "u:2", "1"});
  const Event wake;
  redis::ClientOptions options = options_for(server);
  options.wake_fd = wake.fd();
  lock::Session session(options);
  lock::SingleServerLock lock = make_lock("u:1");
  std::thread waker([&] {
    comes_to_wait(server);
    wake.raise();
  });
  CHECK_THROWS_AS(static_cast<void>(lock::wait_for_lock(lock, session, {TimePoint::max()})),
                  redis::Interrupted);
  waker.join();
  CHECK(server.keys() == std::vector<std::string>{"job"});
}

TEST_CASE("wait_for_lock: is woken by a message") {
  test::Server server;
  server.command({"HSET", "job", "u:2", "1"});
  lock::Session session(options_for(server));
  lock::SingleServerLock lock = make_lock("u:1");
  std::thread releaser([&] {
    comes_to_wait(server);
    server.command({"DEL", "job"});
    server.command({"PUBLISH", "redisson_lock__channel:{job}", "0"});
  });
  CHECK(lock::wait_for_lock(lock, session, {TimePoint::max()}));
  releaser.join();
  CHECK(server.command({"HGET", "job", "u:1"}) == "1");
}

TEST_CASE("S6: who gives up bars a request of his that may still come from an earlier connection" *
          doctest::test_suite("S6")) {
  test::Server server;
  redis::Client client(options_for(server));
  redis::Client other(options_for(server));
  lock::SingleServerLock holder = make_lock("u:1");
  lock::SingleServerLock waiter = make_lock("u:2");
  CHECK(std::holds_alternative<lock::Hold>(holder.try_acquire(other, lock::Join::no)));
  CHECK(std::holds_alternative<lock::Busy>(waiter.try_acquire(client, lock::Join::no)));
  server.pause();
  client.set_timeout(Milliseconds(3'000));  // nothing is sent when that is over
  CHECK_THROWS_AS(static_cast<void>(waiter.try_acquire(client, lock::Join::no)),
                  redis::Unavailable);
  server.resume();
  client.set_timeout(Milliseconds(30'000));
  CHECK(std::holds_alternative<lock::Busy>(waiter.try_acquire(client, lock::Join::no)));
  waiter.stop_waiting(client);
  CHECK(holder.release(other) == lock::Release::freed);
  // Now it comes.
  const auto keys = server.keys();
  const std::string start = "redisson_unlock_latch:{job}:";
  const auto latch = std::find_if(keys.begin(), keys.end(),
                                  [&](const std::string& key) { return key.starts_with(start); });
  REQUIRE(latch != keys.end());
  const auto late = test::acquire_call("u:2", latch->substr(start.size()));
  CHECK(other.run(late).as_array(1)[0].as_integer() == 2);
  CHECK(server.command({"EXISTS", "job"}) == "0");
}
