// What watch costs the server, with and without notifications of its keys.
// Labels: long unsanitized
#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/looks.hpp"
#include "support/process.hpp"
#include "support/resp.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

const ServerOptions k_with_notifications{.args = {"--notify-keyspace-events", "KA"}};

std::string event(const std::string& name, const std::string& what) {
  return "\"name\":\"" + name + "\",\"event\":\"" + what + "\"";
}

struct Reading {
  long long time_ms;
  long looks;
};

// The server's clock and how often it was asked, of one moment.
Reading read(RespClient& client) {
  const Words reply =
      client.call({"EVAL", "return {redis.call('time'), redis.call('info', 'commandstats')}", "0"});
  return {std::stoll(reply[0]) * 1000 + std::stoll(reply[1]) / 1000, scripts_in(reply[2])};
}

// Hands the locks over as fast as it can, with and without a message, for so long.
void storm(RespClient& client, const Words& names, std::chrono::milliseconds span) {
  const long long end = read(client).time_ms + span.count();
  for (int i = 0; read(client).time_ms < end; ++i) {
    for (const std::string& name : names) {
      client.call({"HSET", name, "owner:" + std::to_string(i), "1"});
      client.call({"PEXPIRE", name, "30000"});
      client.call({"DEL", name});
      if (i % 2 == 0) client.call({"PUBLISH", "redisson_lock__channel:{" + name + "}", "0"});
    }
  }
}

bool is_notified(const Server& server) {
  return has(server.command({"PUBSUB", "CHANNELS", "__keyspace@*"}), ":job");
}

}  // namespace

TEST_CASE("watch looks at a lock once a second at most, whatever happens to it") {
  ServerOptions options;
  SUBCASE("without notifications") {}
  SUBCASE("with notifications of keys") { options = k_with_notifications; }
  Server server(options);
  RespClient client = server.connect();
  const Reading start = read(client);
  Process watch(rlock_argv("watch", "--json", "-r", server.unix_url(), "job", "other"));
  watch.wait_for_stdout(event("other", "state"));
  CHECK(is_notified(server) == !options.args.empty());
  const Reading before = read(client);
  storm(client, {"job", "other"}, 4s);
  const Reading after = read(client);
  const long long seconds = (after.time_ms - before.time_ms) / 1000 + 1;
  CHECK(after.looks - before.looks <= 2 * (seconds + 2));
  CHECK(after.looks - start.looks >= 2);
  // Afterwards it tells what is so in the end.
  client.call({"HSET", "job", "last:1", "1"});
  watch.wait_for_stdout(event("job", "held") + ",\"owner\":\"last:1\"");
}

TEST_CASE("watch asks for a lock to which nothing happens every 5 s where it would be notified") {
  Server server(k_with_notifications);
  RespClient client = server.connect();
  const Reading start = read(client);
  Process watch(rlock_argv("watch", "-r", server.unix_url(), "job"));
  watch.wait_for_stdout("job is free");
  Reading now = start;
  REQUIRE(wait_until([&] { return (now = read(client)).looks >= start.looks + 3; }));
  CHECK(now.time_ms - start.time_ms >= 10'000);
}

TEST_CASE("watch tells what happens to a lock and to its queue by notifications") {
  Server server(k_with_notifications);
  Process watch(rlock_argv("watch", "--json", "-r", server.unix_url(), "job"));
  watch.wait_for_stdout(event("job", "state"));
  REQUIRE(is_notified(server));
  server.command({"HSET", "job", "a:1", "1"});
  watch.wait_for_stdout(event("job", "held") + ",\"owner\":\"a:1\"");
  server.command({"RPUSH", "redisson_lock_queue:{job}", "b:1"});
  watch.wait_for_stdout(event("job", "queued") + ",\"owner\":\"b:1\"");
  SUBCASE("an expiry that came sooner than the lease's end") {
    server.command({"PEXPIRE", "job", "3600000"});

    server.command({"PEXPIRE", "job", "1"});
    watch.wait_for_stdout(event("job", "expired") + ",\"owner\":\"a:1\"");
    CHECK_FALSE(has(watch.out(), "released"));
  }
  SUBCASE("DEL, of which nobody is told") {
    server.command({"DEL", "job"});
    watch.wait_for_stdout(event("job", "released") + ",\"owner\":\"a:1\"");
    CHECK_FALSE(has(watch.out(), "expired"));
  }
  SUBCASE("the end of the lease") {
    server.command({"PEXPIRE", "job", "1500"});
    watch.wait_for_stdout(event("job", "expired") + ",\"owner\":\"a:1\"");
  }
}

TEST_CASE("watch of another database is notified of that one's keys") {
  Server server(k_with_notifications);
  Process watch(rlock_argv("watch", "--json", "-r", server.unix_url() + "?db=3", "job"));
  watch.wait_for_stdout(event("job", "state"));
  CHECK(has(server.command({"PUBSUB", "CHANNELS"}), "__keyspace@3__:job"));
}

TEST_CASE("watch does without notifications where only some of them are on") {
  Server server({.args = {"--notify-keyspace-events", "Kghx"}});
  Process watch(rlock_argv("watch", "--json", "-r", server.unix_url(), "job"));
  watch.wait_for_stdout(event("job", "state"));
  CHECK_FALSE(is_notified(server));
}

TEST_CASE("watch works for a user who may not do all that") {
  Server server(k_with_notifications);
  Words rights = {"ACL",   "SETUSER",       "some",
                  "on",    ">secret",       "~*",
                  "+@all", "resetchannels", "&redisson_lock__channel:*"};
  SUBCASE("not listen to the keys' channels") {}
  SUBCASE("not ask for the configuration, nor for the server's state") {
    rights.insert(rights.end(), {"-config", "-info", "allchannels"});
  }
  REQUIRE(server.command(rights) == "OK");
  const std::string url = "redis://some:secret@127.0.0.1:" + std::to_string(server.port());
  Process watch(rlock_argv("watch", "--json", "-r", url, "job"));
  watch.wait_for_stdout(event("job", "state"));
  CHECK_FALSE(is_notified(server));
  server.command({"HSET", "job", "a:1", "1"});
  watch.wait_for_stdout(event("job", "held"));
  server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
  watch.wait_for_stdout("the server is back after ");
  server.command({"DEL", "job"});
  watch.wait_for_stdout(event("job", "released"));
  watch.signal(SIGTERM);
  CHECK(watch.wait().err.empty());
}
