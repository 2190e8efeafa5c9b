// S6 for each kind of lock: what the server remembers of a request, and for how long.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "lock/kinds/fair.hpp"
#include "lock/kinds/read_write.hpp"
#include "lock/kinds/semaphore.hpp"
#include "lua_scripts.hpp"
#include "redis/lock_fixture.hpp"
#include "redis/server_error.hpp"
#include "support/proxy.hpp"

using namespace rlock;
using lock::Hold;
using lock::Join;
using lock::Kind;
using lock::Release;
using lock::Renewal;
using test::client_of;
using test::Words;

namespace {

const std::string k_latch = "redisson_unlock_latch:{job}:";

using Make = std::function<std::unique_ptr<lock::SingleServerLock>(const lock::About&)>;

struct Sort {
  std::string name;
  Make make;
};

// Each sort of lock that counts holds, of the same owner.
std::vector<Sort> sorts() {
  constexpr Milliseconds k_lease{600'000};
  return {
      {"plain",
       [=](const auto& about) {
         return std::make_unique<lock::SingleServerLock>(lock::plain_operations("job"), "u:1",
                                                         about, k_lease);
       }},
      {"fair",
       [=](const auto& about) {
         return std::make_unique<lock::SingleServerLock>(
             lock::fair_operations("job", lua::k_our_wait), "u:1", about, k_lease);
       }},
      {"read",
       [=](const auto& about) {
         return std::make_unique<lock::SingleServerLock>(
             lock::read_write_operations("job", Kind::read), "u:1", about, k_lease);
       }},
      {"write",
       [=](const auto& about) {
         return std::make_unique<lock::SingleServerLock>(
             lock::read_write_operations("job", Kind::write), "u:1", about, k_lease);
       }},
      {"permits",
       [=](const auto& about) {
         return std::make_unique<lock::SingleServerLock>(lock::semaphore_operations("job", 1),
                                                         "u:1", about, k_lease);
       }},
  };
}

const lock::About k_about{"web1", 42, "ann", "backup"};

// A lock that is held, and was re-entered once.
struct Nested {
  explicit Nested(const Make& make) : outer(make(k_about)), inner(make(k_about)) {
    REQUIRE(std::holds_alternative<Hold>(outer->try_acquire(client, Join::no)));
    REQUIRE(inner->reenter(client));
  }
  test::Server server;
  redis::Client client = client_of(server);
  std::unique_ptr<lock::SingleServerLock> outer;
  std::unique_ptr<lock::SingleServerLock> inner;
};

// Returns a lock of this sort as another owner sees it, whom a reader keeps out as well.
std::unique_ptr<lock::SingleServerLock> make_other(const std::string& sort) {
  constexpr Milliseconds k_lease{600'000};
  const lock::KindOperations operations =
      sort == "plain"     ? lock::plain_operations("job")
      : sort == "fair"    ? lock::fair_operations("job", lua::k_our_wait)
      : sort == "permits" ? lock::semaphore_operations("job", 1)
                          : lock::read_write_operations("job", Kind::write);
  return std::make_unique<lock::SingleServerLock>(operations, "o:1", k_about, k_lease);
}

void forget(const test::Server& server) {
  for (const std::string& key : server.keys()) {
    if (key.starts_with(k_latch)) server.command({"DEL", key});
  }
}

// Returns how long (ms) the server remembers the request that it remembers.
long memory(const test::Server& server) {
  long left = 0;
  for (const std::string& key : server.keys()) {
    if (key.starts_with(k_latch)) left = pttl(server, key);
  }
  return left;
}

}  // namespace

TEST_CASE(
    "S6: a nested hold is counted once and given back once as long as its owner has the lock" *
    doctest::test_suite("S6")) {
  for (const auto& [name, make] : sorts()) {
    for (const lock::About& about : {k_about, lock::About{}}) {
      for (const bool is_known : {false, true}) {
        CAPTURE(name);
        CAPTURE(about.host);
        CAPTURE(is_known);
        test::Server server;
        redis::Client client = client_of(server);
        const auto outer = make(about);
        REQUIRE(std::holds_alternative<Hold>(outer->try_acquire(client, Join::no)));
        const auto inner = make(about);
        for (int i = 0; i < 3; ++i) {
          const auto lease = inner->reenter(client);
          REQUIRE(lease);
          CHECK(lease->count == 2);
          forget(server);
        }
        if (is_known)
          inner->go_on_with({.id = inner->hold_id(), .standing = Hold::Standing::reentered});
        for (int i = 0; i < 3; ++i) {
          CHECK(inner->release(client) == Release::still_held);
          forget(server);
        }
        CHECK_FALSE(inner->reenter(client));
        CHECK(outer->ask(client) == Renewal::renewed);
        // The rights of the outer one are its own.
        CHECK(outer->release(client) == Release::freed);
        CHECK(inner->release(client) == Release::not_held);
        CHECK(comes_to_be_empty(server));
      }
    }
  }
}

TEST_CASE("S6: a reader's re-entry beside a hold whose time is over does the same each time" *
          doctest::test_suite("S6")) {
  test::Server server;
  redis::Client client = client_of(server);
  const auto make = [] {
    return lock::SingleServerLock(lock::read_write_operations("job", Kind::read), "u:1", k_about,
                                  Milliseconds(600'000));
  };
  auto outer = make(), inner = make();
  REQUIRE(std::holds_alternative<Hold>(outer.try_acquire(client, Join::no)));
  REQUIRE(inner.reenter(client));
  server.command({"DEL", "{job}:u:1:rwlock_timeout:1"});
  auto another = make();
  Words first;
  for (int i = 0; i < 3; ++i) {
    REQUIRE(another.reenter(client));
    Words keys = server.keys();
    std::sort(keys.begin(), keys.end());
    if (i == 0) first = keys;
    CHECK(keys == first);
    CHECK(server.command({"HGET", "job", "u:1"}) == "3");
  }
}

TEST_CASE("S6: an outer hold that ends first is given back once as well" *
          doctest::test_suite("S6")) {
  for (const auto& [name, make] : sorts()) {
    CAPTURE(name);
    Nested nested(make);
    auto& [server, client, outer, inner] = nested;
    for (int i = 0; i < 3; ++i) {
      CHECK(outer->release(client) == Release::still_held);
      forget(server);
    }
    CHECK(inner->ask(client) == Renewal::renewed);
    CHECK(inner->release(client) == Release::freed);
    CHECK(comes_to_be_empty(server));
  }
}

TEST_CASE("S6: a late request to take the lock undoes nothing that was noted since" *
          doctest::test_suite("S6")) {
  for (const auto& [name, make] : sorts()) {
    CAPTURE(name);
    Nested nested(make);
    auto& [server, client, outer, inner] = nested;
    constexpr Milliseconds k_kept{3'600'000};
    CHECK(inner->release(client, k_kept) == Release::still_held);
    // As if its first sending came only now.
    REQUIRE(std::holds_alternative<Hold>(outer->try_acquire(client, Join::no)));
    forget(server);
    CHECK(inner->release(client) == Release::still_held);
    CHECK(outer->release(client) == Release::still_held);
    CHECK(std::holds_alternative<lock::Busy>(make_other(name)->try_acquire(client, Join::no)));
  }
}

TEST_CASE(
    "kept by an inner run, a lock stays although it had ended, and a late request took it again") {
  for (const auto& [name, make] : sorts()) {
    CAPTURE(name);
    Nested nested(make);
    auto& [server, client, outer, inner] = nested;
    // Its lease has ended, and what is told of its owner with it; the latches last longer.
    for (const std::string& key : server.keys()) {
      if (!key.starts_with(k_latch)) server.command({"DEL", key});
    }
    REQUIRE(std::holds_alternative<Hold>(outer->try_acquire(client, Join::no)));
    CHECK(inner->release(client, Milliseconds(3'600'000)) == Release::still_held);
    CHECK(outer->release(client) == Release::still_held);
    CHECK(std::holds_alternative<lock::Busy>(make_other(name)->try_acquire(client, Join::no)));
  }
}

TEST_CASE("kept by an inner run, a lock stays as long although the outer one is killed") {
  for (const auto& [name, make] : sorts()) {
    CAPTURE(name);
    Nested nested(make);
    auto& [server, client, outer, inner] = nested;
    CHECK(inner->release(client, Milliseconds(3'600'000)) == Release::still_held);
    CHECK(pttl(server) > 3'000'000);
  }
}

TEST_CASE("S6: a re-entry without an answer is taken back, however late" *
          doctest::test_suite("S6")) {
  for (const auto& [name, make] : sorts()) {
    CAPTURE(name);
    test::Server server;
    test::Proxy proxy(server.port());
    redis::Client client = client_of(server);
    const auto outer = make(k_about);
    REQUIRE(std::holds_alternative<Hold>(outer->try_acquire(client, Join::no)));
    const auto other = make(k_about);
    REQUIRE(other->reenter(client));  // the server knows the script
    CHECK(other->release(client) == Release::still_held);

    redis::ClientOptions options = client.options();
    options.endpoint = redis::parse_url(proxy.url());
    options.timeout = Milliseconds(1000);
    redis::Client unlucky(options);
    unlucky.connect();
    const auto inner = make(k_about);
    proxy.cut_after_next_request(k_latch + inner->hold_id(), test::Mode::refuse);
    CHECK_THROWS_AS((void)inner->reenter(unlucky), redis::Unavailable);
    REQUIRE(proxy.cuts() == 1);
    forget(server);
    proxy.set_mode(test::Mode::pass);
    // It may take a quarter of a second at the most, which is little on a busy machine.
    CHECK(test::wait_until([&] {
      inner->abandon(unlucky);
      return server.command({"EXISTS", k_latch + inner->hold_id()}) == "1";
    }));
    CHECK(outer->release(client) == Release::freed);
  }
}

// What is not noted with the owner: the latch is all there is.
TEST_CASE("S6: the server remembers a request for longer than the client may send it again" *
          doctest::test_suite("S6")) {
  const auto lose = [](const std::string& what, const std::string& text,
                       const std::function<void(redis::Client&)>& request,
                       const test::Server& server) {
    CAPTURE(what);
    test::Proxy proxy(server.port());
    redis::ClientOptions options;
    options.endpoint = redis::parse_url(proxy.url());
    options.timeout = Milliseconds(100'000);
    redis::Client client(options);
    proxy.cut_after_next_request(text);
    request(client);
    REQUIRE(proxy.cuts() == 1);
    // The request has its timeout, and so has what takes it back; between them lies an outage.
    CHECK(memory(server) > 260'000);
  };
  for (const auto& [name, make] : sorts()) {
    test::Server server;
    redis::Client client = client_of(server);
    const auto outer = make(k_about);
    REQUIRE(std::holds_alternative<Hold>(outer->try_acquire(client, Join::no)));
    for (int i = 0; i < 2; ++i) {  // the first time, the server learns the scripts
      const auto inner = make(k_about);
      const auto reenter = [&](redis::Client& by) { REQUIRE(inner->reenter(by)); };
      const auto release = [&](redis::Client& by) {
        CHECK(inner->release(by) == Release::still_held);
      };
      if (i == 0) {
        reenter(client);
        release(client);
      } else {
        lose(name + ": re-entry", k_latch, reenter, server);
        forget(server);
        lose(name + ": release", k_latch, release, server);
      }
    }
  }
  test::Server server;
  redis::Client client = client_of(server);
  constexpr const char* k_owner = "0a53fe30-4e4f-4b66-8ad5-6dd6fd2d0b57:1";
  const auto breaks = [](redis::Client& by) { CHECK(test::breaks(by) == Words{k_owner}); };
  const auto evicts = [](redis::Client& by) { CHECK(lock::evict(by, "job", "u:2")); };
  for (int i = 0; i < 2; ++i) {
    server.command({"RPUSH", "redisson_lock_queue:{job}", "u:2"});
    server.command({"ZADD", "redisson_lock_timeout:{job}", "99999999999999", "u:2"});
    server.command({"HSET", "job", k_owner, "1"});
    if (i == 0) {
      evicts(client);
      breaks(client);
    } else {
      lose("evict", k_latch, evicts, server);
      forget(server);
      lose("break", "\r\nonly\r\n", breaks, server);
    }
  }
}

TEST_CASE("kept by an inner run, a lock stays also where the server was out of memory") {
  for (const auto& [name, make] : sorts()) {
    CAPTURE(name);
    Nested nested(make);
    auto& [server, client, outer, inner] = nested;
    server.command({"CONFIG", "SET", "maxmemory", "1"});
    CHECK(inner->release(client, Milliseconds(60'000)) == Release::still_held);
    server.command({"CONFIG", "SET", "maxmemory", "0"});
    CHECK(outer->release(client) == Release::still_held);
    CHECK(std::holds_alternative<lock::Busy>(make_other(name)->try_acquire(client, Join::no)));
  }
}

TEST_CASE("kept as the writer by an inner run, an owner that reads, too, is not kept as a reader") {
  test::Server server;
  redis::Client client = client_of(server);
  constexpr Milliseconds k_lease{600'000};
  const auto make = [&](Kind kind) {
    return lock::SingleServerLock(lock::read_write_operations("job", kind), "u:1", k_about,
                                  k_lease);
  };
  auto outer = make(Kind::write), inner = make(Kind::write), reader = make(Kind::read);
  REQUIRE(std::holds_alternative<Hold>(outer.try_acquire(client, Join::no)));
  REQUIRE(inner.reenter(client));
  CHECK(inner.release(client, Milliseconds(3'600'000)) == Release::still_held);
  REQUIRE(reader.reenter(client));
  CHECK(reader.release(client) == Release::still_held);
  CHECK(server.command({"HEXISTS", "job", "u:1"}) == "0");
  CHECK(server.command({"HEXISTS", "job", "u:1:write"}) == "1");
}
