// Subscription: several channels, one after the other.
#include "redis/subscription.hpp"

#include <doctest/doctest.h>

#include "lock_fixture.hpp"
#include "support/wait_until.hpp"

using namespace rlock;
using namespace rlock::test;

TEST_CASE("subscription: a message that comes before a later channel is confirmed is kept") {
  Server server;
  redis::Subscription subscription(client_of(server).options(), {"a", "b"});
  REQUIRE(server.command({"PUBLISH", "a", "early"}) == "1");
  REQUIRE(subscription.add({"c", "d"}));
  REQUIRE(server.command({"PUBLISH", "d", "late"}) == "1");
  std::vector<redis::Message> messages;
  REQUIRE(wait_until([&] {
    for (auto& message : subscription.drain()) messages.push_back(std::move(message));
    return messages.size() >= 2;
  }));
  REQUIRE(messages.size() == 2);
  CHECK(messages[0].channel == "a");
  CHECK(messages[0].text == "early");
  CHECK(messages[1].channel == "d");
}

TEST_CASE("subscription: more channels may be refused, and the first go on") {
  Server server;
  REQUIRE(server.command({"ACL", "SETUSER", "some", "on", ">secret", "~*", "+@all", "resetchannels",
                          "&a"}) == "OK");
  redis::ClientOptions options = client_of(server).options();
  options.endpoint.credentials = {"some", "secret"};
  redis::Subscription subscription(options, {"a"});
  CHECK_FALSE(subscription.add({"a", "b"}));
  REQUIRE(server.command({"PUBLISH", "a", "0"}) == "1");
  CHECK(wait_until([&] { return !subscription.drain().empty(); }));
}
