// watch: the events of a lock, live.
// Labels: long server rights-fair
#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/foreign_owner.hpp"
#include "support/looks.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

std::string event(const std::string& name, const std::string& what) {
  return "\"name\":\"" + name + "\",\"event\":\"" + what + "\"";
}

std::string acquire(const Server& server, const std::string& name,
                    const std::string& lease = "1h") {
  const Result result =
      run(rlock_argv("acquire", "--no-watchdog", "--lease", lease, "-r", server.unix_url(), name));
  REQUIRE(result.status == 0);
  return result.out.substr(0, result.out.find('\n'));
}

// Every line is one JSON object, for the server's own parser.
void check_lines(const Server& server, const std::string& out) {
  std::size_t start = 0;
  while (start < out.size()) {
    const std::size_t end = out.find('\n', start);
    REQUIRE(end != std::string::npos);
    const std::string line = out.substr(start, end - start);
    CAPTURE(line);
    CHECK(server.command({"EVAL",
                          "local e = cjson.decode(ARGV[1]) "
                          "return type(e.time_ms) .. type(e.name) .. type(e.event)",
                          "0", line}) == "numberstringstring");
    start = end + 1;
  }
}

}  // namespace

TEST_CASE("watch tells the state first, then what happens") {
  Server server;
  Process watch(rlock_argv("watch", "--json", "-r", server.unix_url(), "job"));
  watch.wait_for_stdout("\n");
  CHECK(watch.out().starts_with("{\"time_ms\":"));
  CHECK(has(watch.out(), event("job", "state") + ",\"state\":\"free\",\"owner\":null"));

  const std::string owner = acquire(server, "job");
  watch.wait_for_stdout(event("job", "held") + ",\"owner\":\"" + owner + "\"");
  REQUIRE(
      run(rlock_argv("renew", "--owner", owner, "--lease", "2h", "-r", server.unix_url(), "job"))
          .status == 0);
  watch.wait_for_stdout(event("job", "renewed") + ",\"owner\":\"" + owner + "\"");
  REQUIRE(run(rlock_argv("unlock", "--owner", owner, "-r", server.unix_url(), "job")).status == 0);
  watch.wait_for_stdout(event("job", "released") + ",\"owner\":\"" + owner + "\"");
  CHECK_FALSE(has(watch.out(), "expired"));
  watch.signal(SIGTERM);
  const Result result = watch.wait();
  CHECK(result.status == 128 + SIGTERM);
  CHECK(result.err.empty());
  check_lines(server, result.out);
}

TEST_CASE("watch tells a lock that is held at its start, and its expiry") {
  Server server;
  acquire(server, "job", "5s");
  Process watch(rlock_argv("watch", "--json", "-r", server.unix_url(), "job"));
  watch.wait_for_stdout(event("job", "state") + ",\"state\":\"held\"");
  watch.wait_for_stdout(event("job", "expired"));
  CHECK_FALSE(has(watch.out(), "released"));
}

TEST_CASE("watch tells a lock that is broken as released, also one without an expiry") {
  Server server;
  server.command({"HSET", "job", k_foreign_owner, "1"});
  Process watch(rlock_argv("watch", "--json", "-r", server.unix_url(), "job"));
  watch.wait_for_stdout(event("job", "state") + ",\"state\":\"held\"");
  SUBCASE("by force") {
    REQUIRE(run(rlock_argv("unlock", "--force", "-y", "-r", server.unix_url(), "job")).status == 0);
  }
  SUBCASE("by DEL") { server.command({"DEL", "job"}); }
  SUBCASE("after more than one look at it") {
    const long before = looks(server);
    CHECK(wait_until([&] { return looks(server) >= before + 2; }));
    server.command({"DEL", "job"});
  }
  watch.wait_for_stdout(event("job", "released") + ",\"owner\":\"" + k_foreign_owner + "\"");
  CHECK_FALSE(has(watch.out(), "expired"));
  CHECK_FALSE(has(watch.out(), "renewed"));
}

TEST_CASE("watch tells who it is, as far as that is stored") {
  Server server;
  server.command({"HSET", "job", "o:1", "1"});
  server.command({"HSET", "rlock_info:{job}", "o:1",
                  R"({"host":"web1","pid":42,"user":"ann","command":"backup","note":"by hand"})"});
  server.command({"HSET", "rlock_info:{other}", "o:2", R"({"note":"no more"})"});
  server.command({"HSET", "other", "o:2", "1"});
  const Result result =
      run(rlock_argv("watch", "--json", "--for", "0", "-r", server.unix_url(), "job", "other"));
  CHECK(has(result.out, R"("owner":"o:1","host":"web1","pid":42,"command":"backup",)"
                        R"("user":"ann","note":"by hand")"));
  CHECK(has(result.out, R"("owner":"o:2","host":null,"pid":null,"command":null,)"
                        R"("user":null,"note":"no more")"));
}

TEST_CASE("watch follows several locks and tells them apart") {
  Server server;
  Process watch(rlock_argv("watch", "--json", "-r", server.unix_url(), "one", "two words"));
  watch.wait_for_stdout(event("two words", "state"));
  CHECK(has(watch.out(), event("one", "state")));
  acquire(server, "two words");
  watch.wait_for_stdout(event("two words", "held"));
  CHECK_FALSE(has(watch.out(), event("one", "held")));
}

TEST_CASE("watch tells who comes to a queue and who leaves it") {
  Server server;
  Process watch(rlock_argv("watch", "--json", "-r", server.unix_url(), "job"));
  watch.wait_for_stdout(event("job", "state"));
  server.command({"RPUSH", "redisson_lock_queue:{job}", "a:1"});
  watch.wait_for_stdout(event("job", "queued") + ",\"owner\":\"a:1\"");
  server.command({"DEL", "redisson_lock_queue:{job}"});
  watch.wait_for_stdout(event("job", "left") + ",\"owner\":\"a:1\"");
}

TEST_CASE("watch tells each release of which a message comes, once, however short the hold was") {
  Server server;
  const Words exec = rlock_argv("exec", "-r", server.unix_url(), "job", "--", "true");
  const auto releases = [](const std::string& out) {
    const std::string one = event("job", "released");
    std::size_t count = 0;
    for (std::size_t at = 0; (at = out.find(one, at)) != std::string::npos; ++at) ++count;
    return count;
  };
  SUBCASE("with looks only") {}
  SUBCASE("where the server tells of its keys") {
    server.command({"CONFIG", "SET", "notify-keyspace-events", "KA"});
  }
  Process watch(rlock_argv("watch", "--json", "-r", server.unix_url(), "job"));
  watch.wait_for_stdout(event("job", "state"));
  // Too short for any look at it, as a script of Redisson does it.
  const std::string script =
      "for i = 1, 3 do redis.call('hset', KEYS[1], 'o:1', 1) redis.call('del', KEYS[1]) "
      "redis.call('publish', ARGV[1], '0') end";
  server.command({"EVAL", script, "1", "job", "redisson_lock__channel:{job}"});
  watch.wait_for_stdout(event("job", "released") + ",\"owner\":null");
  // Whether a look sees them or not.
  std::size_t count = 3;
  for (int i = 0; i < 40; ++i, ++count) REQUIRE(run(exec).status == 0);
  for (int i = 0; i < 3; ++i, ++count) {
    const std::string owner = acquire(server, "job");
    watch.wait_for_stdout(event("job", "held") + ",\"owner\":\"" + owner);
    REQUIRE(run(rlock_argv("unlock", "--owner", owner, "-r", server.unix_url(), "job")).status ==
            0);
    if (i < 2) REQUIRE(run(exec).status == 0);
  }
  count += 2;
  // The messages before these are in order; the last look tells of nothing more.
  const std::string last = acquire(server, "job");
  watch.wait_for_stdout(event("job", "held") + ",\"owner\":\"" + last);
  const long before = looks(server);
  CHECK(wait_until([&] { return looks(server) >= before + 3; }));
  watch.signal(SIGTERM);
  CHECK(releases(watch.wait().out) == count);
}

TEST_CASE("watch takes the message that a lock is taken again for no release") {
  Server server;
  const std::string channel = "redisson_lock__channel:{job}";
  Process watch(rlock_argv("watch", "--json", "-r", server.unix_url(), "job"));
  watch.wait_for_stdout(event("job", "state"));
  acquire(server, "job");
  watch.wait_for_stdout(event("job", "held"));
  server.command({"EVAL",
                  "redis.call('del', 'job') redis.call('publish', ARGV[1], '0') "
                  "redis.call('hset', 'job', ARGV[2], 1) redis.call('pexpire', 'job', 600000) "
                  "return redis.call('publish', ARGV[1], '2')",
                  "0", channel, k_foreign_owner});
  watch.wait_for_stdout("\"owner\":\"" + k_foreign_owner + "\"");
  const std::string out = watch.out();
  const std::size_t first = out.find(event("job", "released"));
  CHECK(first != std::string::npos);
  CHECK(out.find(event("job", "released"), first + 1) == std::string::npos);
}

TEST_CASE("watch tells people of a release that it did not see, and by whom one was that it saw") {
  Server server;
  Process watch(rlock_argv("watch", "-r", server.unix_url(), "job"));
  watch.wait_for_stdout(" is free\n");
  server.command({"PUBLISH", "redisson_lock__channel:{job}", "0"});
  watch.wait_for_stdout(" job released by an unknown owner\n");
  server.command({"HSET", "job", "o:1", "1"});
  watch.wait_for_stdout(" held by o:1");
  server.command({"EVAL",
                  "redis.call('del', KEYS[1]) redis.call('hset', KEYS[1], 'o:2', 1) "
                  "return redis.call('pexpire', KEYS[1], 600000)",
                  "1", "job"});
  watch.wait_for_stdout(" held by o:2, expires in ");
  CHECK(has(watch.out(), " released by o:1\n"));
}

TEST_CASE("watch outlives a restart of the server, which is one event") {
  Server server;
  const std::string owner = acquire(server, "job");
  Process watch(rlock_argv("watch", "--json", "-r", server.unix_url(), "job"));
  watch.wait_for_stdout(event("job", "state"));
  server.stop();
  watch.wait_for_stdout(event("job", "error") + ",\"message\":");
  server.start();  // it has forgotten the lock
  watch.wait_for_stdout(event("job", "state") + ",\"state\":\"free\"");
  watch.wait_for_stdout(",\"message\":\"the server is back after ");
  watch.wait_for_stdout(", and has restarted\"");
  watch.wait_for_stdout(event("job", "released") + ",\"owner\":\"" + owner + "\"");
  const std::string again = acquire(server, "job");
  watch.wait_for_stdout(event("job", "held") + ",\"owner\":\"" + again + "\"");
  watch.signal(SIGINT);
  const Result result = watch.wait();
  CHECK(result.status == 128 + SIGINT);
  CHECK(result.err.empty());
  const std::string error = event("job", "error");
  CHECK(result.out.find(error) == result.out.rfind(error));
  check_lines(server, result.out);
}

TEST_CASE("watch tells of a lost connection, too, and that the server is the same") {
  Server server;
  const std::string owner = acquire(server, "job");
  Process watch(rlock_argv("watch", "-r", server.unix_url(), "job", "other"));
  watch.wait_for_stdout(" other is free\n");
  server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
  watch.wait_for_stdout(" other error: ");
  watch.wait_for_stdout(" other is free; the server is back after ");
  CHECK(has(watch.out(), " job is held by "));
  CHECK_FALSE(has(watch.out(), "restarted"));
  CHECK_FALSE(has(watch.out(), "released"));  // nothing has happened to it
}

TEST_CASE("watch counts an outage from the question that was not answered") {
  Server server;
  Process watch(rlock_argv("watch", "-r", server.unix_url(), "--timeout", "3s", "job"));
  watch.wait_for_stdout(" is free\n");
  server.pause();
  watch.wait_for_stdout(" error: ");  // when the time-out is over
  server.resume();
  const std::string back = "the server is back after ";
  watch.wait_for_stdout(back);
  watch.wait_for_stdout("s\n");
  const std::string out = watch.out();
  CHECK(std::stoi(out.substr(out.find(back) + back.size())) >= 3);
}

TEST_CASE("watch of a server that was never there fails, also with --for") {
  for (const char* span : {"1h", "0"}) {
    const Result result =
        run(rlock_argv("watch", "--for", span, "-r", "unix:///nonexistent.sock", "job"));
    CHECK(result.status == 69);
    CHECK(result.out.empty());
    CHECK(has(result.err, "rlock: cannot reach redis at unix:///nonexistent.sock"));
  }
}

TEST_CASE("watch follows a lock once that is named twice") {
  Server server;
  const Result result =
      run(rlock_argv("watch", "--for", "0", "-r", server.unix_url(), "job", "other", "job"));
  CHECK(result.status == 0);
  CHECK(std::count(result.out.begin(), result.out.end(), '\n') == 2);
}

TEST_CASE("watch tells readers that come and go, one by one") {
  Server server;
  server.command({"HSET", "job", "mode", "read", "a:1", "1", "b:1", "1"});
  Process watch(rlock_argv("watch", "--json", "-r", server.unix_url(), "job"));
  watch.wait_for_stdout(event("job", "state"));
  server.command({"HDEL", "job", "a:1"});
  watch.wait_for_stdout(event("job", "released") + ",\"owner\":\"a:1\"");
  server.command({"HSET", "job", "c:1", "1"});
  watch.wait_for_stdout(event("job", "held") + ",\"owner\":\"c:1\"");
  CHECK_FALSE(has(watch.out(), event("job", "held") + ",\"owner\":\"b:1\""));
}

TEST_CASE("watch for people says the same in words, harmlessly") {
  Server server;
  const std::string name = "j\x1bob\n";
  Process watch(rlock_argv("watch", "-r", server.unix_url(), name));
  watch.wait_for_stdout(" j\\x1bob\\n is free\n");
  server.command({"HSET", name,
                  "own\x1b"
                  "er:1",
                  "1"});
  server.command({"PEXPIRE", name, "600000"});
  watch.wait_for_stdout(" held by own\\x1ber:1, expires in ");
  server.stop();
  watch.wait_for_stdout(" error: ");
  watch.signal(SIGTERM);
  const Result result = watch.wait();
  CHECK(std::none_of(result.out.begin(), result.out.end(),
                     [](char c) { return c != '\n' && static_cast<unsigned char>(c) < 0x20; }));
}

TEST_CASE("watch | head -1 ends quietly, also when nothing more happens") {
  Server server;
  const Result result = run(
      {"sh", "-c", "\"$0\" watch -r \"$1\" job | head -n 1", rlock_program(), server.unix_url()},
      {}, 30s);
  CHECK(result.status == 0);
  CHECK(std::count(result.out.begin(), result.out.end(), '\n') == 1);
  CHECK(result.err.empty());
}

TEST_CASE("watch leaves no connection behind") {
  Server server;
  Process watch(rlock_argv("watch", "-r", server.unix_url(), "job"));
  watch.wait_for_stdout("is free");
  CHECK(has(server.command({"CLIENT", "LIST"}), "name=rlock"));
  watch.signal(SIGTERM);
  watch.wait();
  CHECK(wait_until([&] { return !has(server.command({"CLIENT", "LIST"}), "name=rlock"); }));
  CHECK(server.keys().empty());
}
