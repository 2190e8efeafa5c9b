// list of a server that goes away, holds something back, or has very many keys.
// Labels: long unsanitized server rights-fair
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/inspection/list_fixture.hpp"
#include "support/foreign_owner.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/proxy.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::lists;
using namespace std::chrono_literals;

namespace {

// What a search may take, beside the sanitizers' own memory.
const long k_most_kib = (is_sanitized() ? 256L : 32L) * 1024;

}  // namespace

TEST_CASE("list: a user who may not read all keys gets the others, and a warning") {
  Server server;
  for (const char* name : {"app:1", "app:2", "secret:1", "secret:2"}) hold(server, name);
  REQUIRE(server.command({"ACL", "SETUSER", "viewer", "on", ">password", "~app:*", "~*:{app:*",
                          "-@all", "+@read", "+@scripting", "+info", "+time", "+select"}) == "OK");
  const std::string url = "redis://viewer:password@127.0.0.1:" + std::to_string(server.port());
  const Result result = list_with(url, {});
  CHECK(result.status == 0);
  CHECK(names_in(lines_of(result.out)) == Words{"app:1", "app:2"});
  CHECK(is_one_message(result.err));
  CHECK(has(result.err, "list: 2 keys left out: they cannot be read"));
  CHECK(list_with(url, {"-q"}).err.empty());
  CHECK(list_with(url, {"app:*"}).err.empty());

  server.command({"ACL", "SETUSER", "viewer", "-scan"});
  const Result refused = list_with(url, {});
  CHECK(refused.status == 77);
  CHECK(refused.out.empty());
  CHECK(is_one_message(refused.err));
  CHECK_FALSE(has(refused.err, "password"));
}

TEST_CASE("list: in a cluster, a name that no script can read does not hide the others") {
  Server server({.args = {"--cluster-enabled", "yes"}});
  REQUIRE(server.command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}) == "OK");
  REQUIRE(wait_until([&] { return server.command({"SET", "other", "x"}) == "OK"; }));
  for (const char* name : {"a", "b", "x{y}z", "bad{"}) hold(server, name);
  server.command({"RPUSH", "redisson_lock_queue:{free}", "w:1"});
  const Result result = list_with(server.unix_url(), {});
  CHECK(result.status == 0);
  CHECK(names_in(lines_of(result.out)) == Words{"a", "b", "free", "x{y}z"});
  CHECK(is_one_message(result.err));
  CHECK(has(result.err, "list: 1 key left out: it cannot be read, or holds"));
}

TEST_CASE("list: a million other keys and a huge hash take no memory, and every lock is found") {
  Server server;
  fill(server, 700'000);
  fill(server, 300'000, "'hset', 'hash:' .. i, 'field', 'value'");
  fill(server, 200'000, "'hset', 'huge', '" + k_foreign_client + ":' .. i, 1");
  Words locks;
  for (int i = 100; i < 200; ++i) locks.push_back("job" + std::to_string(i));
  for (const std::string& name : locks) hold(server, name);
  Process process(rlock_argv("list", "-r", server.unix_url()));
  long most = 0;
  wait_until(
      [&] {
        most = std::max(most, most_resident_kib(process.pid()));
        return !process.running();
      },
      120s);
  const Result result = process.wait();
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  CHECK(names_in(lines_of(result.out)) == locks);
  CHECK(most > 0);
  CHECK(most < k_most_kib);
  // No step was long, for there were many.
  const std::string stats = server.command({"INFO", "commandstats"});
  const std::string key = "cmdstat_scan:calls=";
  REQUIRE(has(stats, key));
  CHECK(std::stol(stats.substr(stats.find(key) + key.size())) > 2000);
}

TEST_CASE("list: a server that goes away in the middle gives what was read, and status 69") {
  Server server;
  fill(server, 100'000);
  fill(server, 5000, "'hset', 'job' .. i, '" + k_foreign_owner + "', 1");
  REQUIRE(list(server).size() == 5001);  // from now on the server knows the scripts
  Proxy proxy(server.unix_path());
  proxy.set_delay(20ms);
  Process process(rlock_argv("list", "--timeout", "3s", "-r", proxy.url()));
  REQUIRE(wait_until([&] { return proxy.requests() >= 300; }));
  server.stop();
  const Result result = process.wait();
  CHECK(result.status == 69);
  const Words lines = lines_of(result.out);
  CHECK(lines.size() > 1);
  CHECK(lines.size() < 5000);
  CHECK(lines.at(0).starts_with(k_header));
  const Words names = names_in(lines);
  CHECK(std::is_sorted(names.begin(), names.end()));
  CHECK(is_one_message(result.err));
}

TEST_CASE("list: a server that goes away between the search and the snapshots") {
  Server server;
  fill(server, 120, "'hset', 'job' .. i, '" + k_foreign_owner + "', 1");
  REQUIRE(list(server).size() == 121);
  Proxy proxy(server.unix_path());
  proxy.set_delay(2500ms);
  Process process(rlock_argv("list", "--json", "--timeout", "8s", "-r", proxy.url()));
  // The search is one step; 50 snapshots are asked for at a time.
  REQUIRE(wait_until([&] { return proxy.requests() > 50 + 50; }));
  proxy.set_mode(Mode::refuse);
  const Result result = process.wait();
  CHECK(result.status == 69);
  CHECK(lines_of(result.out).size() == 50);
  CHECK(is_one_message(result.err));
}

TEST_CASE("list: a connection that breaks is mended, and the search goes on") {
  Server server;
  fill(server, 20'000);
  Words locks;
  for (int i = 100; i < 200; ++i) locks.push_back("job" + std::to_string(i));
  for (const std::string& name : locks) hold(server, name);
  Proxy proxy(server.unix_path());
  proxy.set_delay(5ms);
  SUBCASE("while it searches") { proxy.cut_after_next_request("\r\n100\r\n"); }
  SUBCASE("while it looks at what it found") {
    proxy.cut_after_next_request("redisson_lock_token:{");
  }
  const Result result = list_with(proxy.url(), {});
  CHECK(result.status == 0);
  CHECK(proxy.cuts() == 1);
  CHECK(names_in(lines_of(result.out)) == locks);
  CHECK(result.err.empty());
}
