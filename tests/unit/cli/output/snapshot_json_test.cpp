#include "cli/output/snapshot_json.hpp"

#include <limits>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "support/words.hpp"

using nlohmann::ordered_json;
using rlock::cli::Hint;
using rlock::cli::kind_name;
using rlock::cli::ProblemText;
using rlock::lock::About;
using rlock::lock::Holder;
using rlock::lock::Kind;
using rlock::lock::Snapshot;
using rlock::lock::Waiter;
using rlock::test::has;

namespace {

std::string to_json(const Snapshot& snapshot, const std::string& server,
                    const std::vector<ProblemText>& problems = {}) {
  return rlock::cli::to_json(snapshot, server, problems);
}

std::string keys_of(const ordered_json& json) {
  std::string keys;
  for (const auto& item : json.items()) keys += (keys.empty() ? "" : " ") + item.key();
  return keys;
}

Holder make_holder(const std::string& owner) {
  Holder holder;
  holder.owner = owner;
  return holder;
}

Waiter make_waiter(const std::string& owner) {
  Waiter waiter;
  waiter.owner = owner;
  return waiter;
}

}  // namespace

TEST_CASE("a free lock has every key") {
  Snapshot snapshot;
  snapshot.name = "job";
  snapshot.time_ms = 1700000000000;
  CHECK(to_json(snapshot, "unix:///s") ==
        R"({"name":"job","server":"unix:///s","time_ms":1700000000000,"state":"free","kind":null,)"
        R"("ttl_ms":null,"token":null,"holders":[],"waiters":[],"listening":null,)"
        R"("raw":{"hash":{},"queue":[],"zset":[]},"problems":[],)"
        R"("certain":true,"notes":[],"role":null,"replica_of":null,"data_age_ms":null})");
}

TEST_CASE("a held lock with a queue has the documented shape, in the documented order") {
  Snapshot snapshot;
  snapshot.name = "job";
  snapshot.listening = 2;
  snapshot.time_ms = 1000;
  snapshot.held = true;
  snapshot.kind = Kind::fair;
  snapshot.ttl_ms = 29000;
  snapshot.token = 7;
  Holder holder = make_holder("u1:1");
  holder.count = 2;
  holder.about = About{"web1", 42, "alice", "backup"};
  holder.since_ms = 900;
  snapshot.holders = {holder};
  Waiter first = make_waiter("u2:2");
  first.deadline_ms = 6000;
  snapshot.waiters = {first, make_waiter("u3:3")};
  snapshot.hash = {{"u1:1", "2"}};
  snapshot.queue = {"u2:2", "u3:3"};
  snapshot.scores = {{"u2:2", 6000.0}};
  CHECK(
      to_json(snapshot, "redis://h:6379", {{"detail", {Hint::Kind::advice, "hint"}, "code"}}) ==
      R"({"name":"job","server":"redis://h:6379","time_ms":1000,"state":"held","kind":"fair",)"
      R"("ttl_ms":29000,"token":7,)"
      R"("holders":[{"owner":"u1:1","count":2,"mode":"exclusive","host":"web1","user":"alice",)"
      R"("command":"backup","pid":42,"since_ms":900,"note":null,"kept_until_ms":null}],)"
      R"("waiters":[{"position":1,"owner":"u2:2","deadline_ms":6000,"expires_in_ms":5000,)"
      R"("alive":null,"host":null,"user":null,"command":null,"pid":null,"since_ms":null,"note":null},)"
      R"({"position":2,"owner":"u3:3","deadline_ms":null,"expires_in_ms":null,"alive":null,)"
      R"("host":null,"user":null,"command":null,"pid":null,"since_ms":null,"note":null}],"listening":2,)"
      R"("raw":{"hash":{"u1:1":"2"},"queue":["u2:2","u3:3"],)"
      R"("zset":[{"member":"u2:2","score":6000}]},)"
      R"("problems":[{"code":"code","detail":"detail","hint":"hint"}],)"
      R"("certain":true,"notes":[],"role":null,"replica_of":null,"data_age_ms":null})");
}

TEST_CASE("fields of the raw hash stay in the server's order") {
  Snapshot snapshot;
  snapshot.hash = {{"z", "1"}, {"a", "2"}, {"m", "3"}};
  const auto json = ordered_json::parse(to_json(snapshot, ""));
  CHECK(keys_of(json["raw"]["hash"]) == "z a m");
}

TEST_CASE("kinds and modes have their published names") {
  Snapshot snapshot;
  CHECK(kind_name(snapshot).empty());
  for (const auto& [kind, name] : std::map<Kind, std::string>{{Kind::reentrant, "reentrant"},
                                                              {Kind::fair, "fair"},
                                                              {Kind::simple, "simple"},
                                                              {Kind::read, "read-write"},
                                                              {Kind::write, "read-write"},
                                                              {Kind::semaphore, "semaphore"}}) {
    snapshot.kind = kind;
    CHECK(kind_name(snapshot) == name);
  }
  snapshot.is_unknown = true;
  CHECK(kind_name(snapshot) == "unknown");

  for (const auto mode : {Holder::Mode::exclusive, Holder::Mode::read, Holder::Mode::write}) {
    snapshot.holders.push_back(make_holder("o"));
    snapshot.holders.back().mode = mode;
  }
  const auto json = ordered_json::parse(to_json(snapshot, ""));
  CHECK(json["holders"][0]["mode"] == "exclusive");
  CHECK(json["holders"][1]["mode"] == "read");
  CHECK(json["holders"][2]["mode"] == "write");
}

TEST_CASE("what is not known about an owner is null, never empty") {
  Snapshot snapshot;
  snapshot.holders = {make_holder("o")};
  snapshot.holders[0].about = About{};
  const auto json = ordered_json::parse(to_json(snapshot, ""));
  for (const char* key : {"host", "user", "command", "pid", "since_ms", "note"}) {
    CAPTURE(key);
    CHECK(json["holders"][0].at(key).is_null());
  }
}

TEST_CASE("no expiry is -1") {
  Snapshot snapshot;
  snapshot.held = true;
  snapshot.ttl_ms = -1;
  CHECK(ordered_json::parse(to_json(snapshot, ""))["ttl_ms"] == -1);
}

TEST_CASE("bytes that are not UTF-8 are written as hexadecimal numbers, everywhere") {
  const std::string bad = "a\xff";
  Snapshot snapshot;
  snapshot.name = bad;
  snapshot.holders = {make_holder(bad)};
  snapshot.holders[0].about = About{bad, 1, bad, bad};
  snapshot.waiters = {make_waiter(bad)};
  snapshot.hash = {{bad, bad}};
  snapshot.queue = {bad};
  snapshot.scores = {{bad, 1.0}};
  const auto json =
      ordered_json::parse(to_json(snapshot, bad, {{bad, {Hint::Kind::advice, "hint"}, "code"}}));
  const std::string good = "a\\xff";
  CHECK(json["name"] == good);
  CHECK(json["server"] == good);
  CHECK(json["holders"][0]["owner"] == good);
  CHECK(json["holders"][0]["host"] == good);
  CHECK(json["holders"][0]["user"] == good);
  CHECK(json["holders"][0]["command"] == good);
  CHECK(json["waiters"][0]["owner"] == good);
  CHECK(json["raw"]["hash"][good] == good);
  CHECK(json["raw"]["queue"][0] == good);
  CHECK(json["raw"]["zset"][0]["member"] == good);
  CHECK(json["problems"][0]["detail"] == good);
}

TEST_CASE("it is one line, whatever the name holds") {
  Snapshot snapshot;
  snapshot.name = "a\nb\x1b[2J";
  const std::string text = to_json(snapshot, "");
  CHECK(text.find_first_of("\n\x1b") == std::string::npos);
  CHECK(ordered_json::parse(text)["name"] == snapshot.name);
}

TEST_CASE("scores are whole where they are, and null where JSON has no word for them") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Snapshot snapshot;
  snapshot.scores = {{"whole", 1700000000000.0},
                     {"part", 1.5},
                     {"negative", -3.0},
                     {"most", infinity},
                     {"least", -infinity},
                     {"huge", 1e300},
                     {"nan", std::numeric_limits<double>::quiet_NaN()}};
  const std::string text = to_json(snapshot, "");
  CHECK(has(text, R"({"member":"whole","score":1700000000000})"));
  const auto zset = ordered_json::parse(text)["raw"]["zset"];
  CHECK(zset[1]["score"] == 1.5);
  CHECK(zset[2]["score"] == -3);
  CHECK(zset[3]["score"].is_null());
  CHECK(zset[4]["score"].is_null());
  CHECK(zset[5]["score"] == 1e300);
  CHECK(zset[6]["score"].is_null());
}
