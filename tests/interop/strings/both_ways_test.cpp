// One string lock, two libraries: each waits for the other, and neither ends the other's.
#include <string>

#include <doctest/doctest.h>

#include "string_fixture.hpp"
#include "support/words.hpp"

using namespace rlock::test;

TEST_CASE_FIXTURE(StringFixture, "they hold: rlock is refused, waits, and takes over the release") {
  const std::string theirs = peer.acquire("job", 60'000);
  REQUIRE_FALSE(theirs.empty());
  CHECK(value() == theirs);
  CHECK(ttl() > 30'000);
  CHECK(ttl() <= 60'000);
  const Result refused = invoke({"exec", "-n", "--kind", "simple", "job", "--", "true"});
  CHECK(refused.status == 75);
  CHECK(refused.err == "rlock: job: not acquired: held by " + theirs + "\n");
  const auto waiter = start_waiter();
  CHECK(value() == theirs);
  REQUIRE(peer.ask("release job") == "yes");
  waiter->wait_for_stdout("ready");
  const std::string ours = value();
  CHECK(ours.find(':') == 36);
  CHECK(peer.acquire("job", 60'000).empty());
  CHECK(value() == ours);
  waiter->close_stdin();
  CHECK(waiter->wait().status == 0);
  CHECK(waiter->err().empty());
  CHECK(is_clean());
}

TEST_CASE_FIXTURE(StringFixture, "they expire: rlock takes over, and they cannot end its lock") {
  const std::string theirs = peer.acquire("job", 1500);
  REQUIRE_FALSE(theirs.empty());
  const auto waiter = start({"--lease", "60s"});
  waiter->wait_for_stdout("ready");
  const std::string ours = value();
  CHECK(ours != theirs);
  CHECK(peer.ask("extend job 600000").starts_with("no"));
  CHECK(peer.ask("release job").starts_with("no"));
  CHECK(value() == ours);
  CHECK(ttl() <= 60'000);
  waiter->close_stdin();
  CHECK(waiter->wait().status == 0);
  CHECK(is_clean());
}

TEST_CASE_FIXTURE(StringFixture, "rlock holds: they are refused, wait, and take over the release") {
  const auto holder = start({"--lease", "20s"});
  holder->wait_for_stdout("ready");
  const std::string ours = value();
  CHECK(peer.acquire("job", 60'000).empty());
  peer.send("acquire job 50000 60000");
  CHECK(value() == ours);
  CHECK(ttl() <= 20'000);
  holder->close_stdin();
  CHECK(holder->wait().status == 0);
  const std::string answer = peer.answer();
  REQUIRE(answer.starts_with("yes "));
  CHECK(value() == answer.substr(4));
  CHECK(ttl() > 20'000);
  CHECK(try_once() == 75);
  CHECK(peer.ask("release job") == "yes");
  CHECK(try_once() == 0);
  CHECK(is_clean());
}

TEST_CASE_FIXTURE(StringFixture, "an owner of rlock's whose lease has ended cannot end theirs") {
  const Result taken = invoke(
      {"acquire", "--kind", "simple", "--no-watchdog", "--no-info", "--lease", "200ms", "job"});
  REQUIRE(taken.status == 0);
  const std::string owner = taken.out.substr(0, taken.out.size() - 1);
  REQUIRE(is_clean());
  const std::string theirs = peer.acquire("job", 60'000);
  REQUIRE_FALSE(theirs.empty());
  CHECK(invoke({"renew", "-q", "--owner", owner, "--lease", "600s", "job"}).status == 1);
  CHECK(invoke({"unlock", "-q", "--owner", owner, "job"}).status == 1);
  CHECK(value() == theirs);
  CHECK(ttl() <= 60'000);
  CHECK(peer.ask("release job") == "yes");
  CHECK(is_clean());
}

TEST_CASE_FIXTURE(StringFixture, "their value is an owner like any other") {
  const std::string theirs = peer.acquire("job", 20'000);
  REQUIRE_FALSE(theirs.empty());
  CHECK(has(invoke({"inspect-queue", "--json", "job"}).out, "\"owner\":\"" + theirs + "\""));
  CHECK(has(invoke({"list", "--simple", "j*"}).out, theirs));
  CHECK(peer.ask("extend job 40000") == "yes");
  CHECK(invoke({"renew", "--owner", theirs, "--lease", "600s", "job"}).status == 0);
  CHECK(ttl() > 300'000);
  const auto waiter = start_waiter();
  CHECK(invoke({"unlock", "--owner", theirs, "job"}).status == 0);
  waiter->wait_for_stdout("ready");
  CHECK(peer.ask("release job").starts_with("no"));
  waiter->close_stdin();
  CHECK(waiter->wait().status == 0);
  CHECK(is_clean());
}
