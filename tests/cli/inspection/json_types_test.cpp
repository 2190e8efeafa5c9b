// JSON: a key has one type, in whatever command it stands.
#include <algorithm>
#include <csignal>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "support/foreign_owner.hpp"
#include "support/invoke.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using nlohmann::json;

namespace {

// The type of each key. A new key gets its line here, and means the same everywhere.
const std::map<std::string, std::string> k_types = {
    {"alive", "boolean or null"},
    {"available", "integer"},
    {"certain", "boolean"},
    {"code", "string"},
    {"command", "string or null"},
    {"count", "integer"},
    {"data_age_ms", "integer or null"},
    {"deadline_ms", "integer or null"},
    {"detail", "string"},
    {"event", "string"},
    {"evicted_count", "integer"},
    {"expires_in_ms", "integer or null"},
    {"hash", "object"},
    {"highest", "integer"},
    {"hint", "string or null"},
    {"holder_count", "integer"},
    {"holders", "array of object"},
    {"host", "string or null"},
    {"kept_until_ms", "integer or null"},
    {"kind", "string or null"},
    {"lease_ms", "integer or null"},
    {"level", "string"},
    {"listening", "integer or null"},
    {"listening_clients", "array of object"},
    {"member", "string"},
    {"message", "string"},
    {"mode", "string"},
    {"name", "string or null"},
    {"note", "string or null"},
    {"notes", "array of object"},
    {"owner", "string or null"},
    {"permit_zset", "array of object"},
    {"permits", "object"},
    {"pid", "integer or null"},
    {"position", "integer or null"},
    {"problems", "array of object"},
    {"queue", "array of string"},
    {"raw", "object"},
    {"replica_of", "string or null"},
    {"role", "string or null"},
    {"scope", "string"},
    {"score", "integer"},
    {"server", "string"},
    {"since_ms", "integer or null"},
    {"source", "string"},
    {"stale", "boolean"},
    {"state", "string"},
    {"time_ms", "integer"},
    {"token", "integer or null"},
    {"total", "integer"},
    {"ttl_ms", "integer or null"},
    {"unknown_count", "integer"},
    {"unknown_waiter_count", "integer"},
    {"user", "string or null"},
    {"value", "string or null"},
    {"verdict", "string"},
    {"waiter_count", "integer or null"},
    {"waiters", "array of object"},
    {"was_alive", "boolean or null"},
    {"zset", "array of object"},
};

std::string type_of(const json& value) {
  return value.is_number_integer() ? "integer" : value.type_name();
}

bool is_of_type(const json& value, const std::string& type) {
  constexpr std::string_view k_array = "array of ";
  constexpr std::string_view k_or_null = " or null";
  if (type.starts_with(k_array)) {
    return value.is_array() && std::all_of(value.begin(), value.end(), [&](const json& item) {
             return type_of(item) == type.substr(k_array.size());
           });
  }
  if (!type.ends_with(k_or_null)) return type_of(value) == type;
  return value.is_null() || type_of(value) == type.substr(0, type.size() - k_or_null.size());
}

void check_types(const json& value) {
  if (value.is_array()) {
    for (const json& item : value) check_types(item);
  }
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.items()) {
    CAPTURE(key);
    CAPTURE(member.dump());
    const auto type = k_types.find(key);
    REQUIRE(type != k_types.end());
    CHECK(is_of_type(member, type->second));
    if (key != "hash") check_types(member);  // whose keys are the lock's fields
  }
}

// Checks each line, and returns them.
std::vector<json> checked(const std::string& out) {
  std::vector<json> lines;
  std::istringstream stream(out);
  for (std::string line; std::getline(stream, line);) {
    CAPTURE(line);
    lines.push_back(json::parse(line));
    REQUIRE(lines.back().is_object());
    check_types(lines.back());
  }
  return lines;
}

std::vector<json> lines_of(const Server& server, Words words) {
  words.emplace_back("--json");
  return checked(invoke(server, words).out);
}

json only(const std::vector<json>& lines, const std::string& name) {
  for (const json& line : lines) {
    if (line["name"] == name) return line;
  }
  return nullptr;
}

// Makes a lock of each kind, with and without holders, waiters, an expiry and problems.
void set_up(const Server& server) {
  server.command({"HSET", "lasting", k_foreign_owner, "1"});
  server.command({"HSET", "job", k_foreign_owner, "2"});
  server.command({"PEXPIRE", "job", "3600000"});
  server.command({"RPUSH", "redisson_lock_queue:{job}", "w:1", "w:2"});
  server.command({"ZADD", "redisson_lock_timeout:{job}", "1000", "w:1"});
  server.command({"RPUSH", "redisson_lock_queue:{free}", "w:1"});
  server.command({"SET", "string", "a value"});
  server.command({"RPUSH", "list", "x"});
  const auto take = [&](const Words& words) {
    const Result result = invoke(server, words);
    CAPTURE(result.err);
    REQUIRE(result.status == 0);
    checked(result.out);
  };
  for (const char* kind : {"reentrant", "fair", "read", "write", "simple", "semaphore"}) {
    take({"acquire", "--json", "--no-watchdog", "--kind", kind, "--note", "n",
          std::string("own-") + kind});
  }
  take({"acquire", "--json", "--no-watchdog", "--no-info", "--fence", "bare"});
  server.command({"ZADD", "{own-semaphore}:timeout", "922337203685477", k_foreign_permit});
}

}  // namespace

TEST_CASE("JSON: a key has the same type in every command") {
  const Server server;
  set_up(server);
  const Words names = {"lasting",    "job",           "free",     "string",   "list",
                       "nothing",    "own-reentrant", "own-fair", "own-read", "own-write",
                       "own-simple", "own-semaphore", "bare"};
  for (const std::string& name : names) {
    CHECK(lines_of(server, {"inspect-queue", name}).size() == 1);
  }
  Words watch = {"watch", "--for", "0"};
  watch.insert(watch.end(), names.begin(), names.end());
  CHECK(lines_of(server, watch).size() == names.size());
  CHECK(lines_of(server, {"list", "--simple", "*"}).size() >= 9);
  CHECK(lines_of(server, {"list", "--stuck"}).size() >= 3);
  CHECK_FALSE(lines_of(server, {"doctor"}).empty());
  CHECK_FALSE(lines_of(server, {"doctor", "--dry-run"}).empty());
  CHECK(lines_of(server, {"fence", "bare", "1"}).size() == 1);
  CHECK(lines_of(server, {"evict", "job", "w:2"}).size() == 1);
  CHECK(lines_of(server, {"evict", "--dead", "-y", "job"}).size() == 1);
  CHECK(lines_of(server, {"config"}).size() >= 5);
  CHECK_FALSE(lines_of(server, {"doctor", "--repair"}).empty());
  for (const Words& silent : {Words{"renew", "--owner", k_foreign_owner, "job"},
                              Words{"unlock", "--owner", k_foreign_owner, "job"},
                              Words{"unlock", "--force", "-y", "lasting"}}) {
    CHECK(lines_of(server, silent).empty());
  }
}

TEST_CASE("JSON: the events of a watch have the types of the other commands") {
  Server server;
  Process watch(argv_for(server, {"watch", "--json", "job"}));
  watch.wait_for_stdout("\"state\"");
  {
    Process holder(argv_for(server, {"exec", "--fair", "job", "--", "sleep", "60"}));
    watch.wait_for_stdout("\"held\"");
    Process waiter(argv_for(server, {"exec", "--fair", "job", "--", "true"}));
    watch.wait_for_stdout("\"queued\"");
    holder.signal(SIGTERM);
    watch.wait_for_stdout("\"released\"");
    CHECK(waiter.wait().status == 0);
  }
  server.stop();
  watch.wait_for_stdout("\"error\"");
  watch.signal(SIGTERM);
  CHECK(checked(watch.wait().out).size() >= 5);
}

TEST_CASE("JSON: no expiry is -1, no lock is null, and counts have names of their own") {
  const Server server;
  set_up(server);
  const auto list = lines_of(server, {"list", "--simple", "*"});
  const auto watched =
      lines_of(server, {"watch", "--for", "0", "lasting", "free", "job", "string"});
  const auto inspected = [&](const std::string& name) {
    return lines_of(server, {"inspect-queue", name}).at(0);
  };
  for (const char* name : {"lasting", "string", "free", "job"}) {
    CAPTURE(name);
    const json row = only(list, name);
    const json seen = inspected(name);
    for (const json& line : {row, only(watched, name), seen}) {
      if (name == std::string("free")) {
        CHECK(line["ttl_ms"].is_null());
      } else if (name == std::string("job")) {
        CHECK(line["ttl_ms"] > 0);
      } else {
        CHECK(line["ttl_ms"] == -1);
      }
      CHECK(line.contains("waiters") == line.contains("raw"));
    }
    CHECK(row["holder_count"] == seen["holders"].size());
    CHECK(row["waiter_count"] == seen["waiters"].size());
    CHECK(only(watched, name)["waiter_count"] == seen["waiters"].size());
    CHECK(row["problems"] == seen["problems"]);
  }
  CHECK_FALSE(only(list, "lasting")["problems"].empty());
  const json semaphore = inspected("own-semaphore");
  REQUIRE(semaphore["holders"].size() == 2);
  for (const json& holder : semaphore["holders"]) {
    const bool lasts = holder["host"].is_null();
    CHECK((holder["ttl_ms"] == -1) == lasts);
  }
}
