// Replicas: what they show may be old, and a master with replicas does not see all listeners.
// Labels: long
#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "cli/foreign_lock.hpp"
#include "cli/inspection/doctor_fixture.hpp"
#include "cli/inspection/remedies_fixture.hpp"
#include "support/fair_lock.hpp"
#include "support/invoke.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/pty.hpp"
#include "support/resp.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

// A master with the lock "job", and a replica of it.
struct Pair {
  Server master{doctors::durable()};
  Server replica{{.args = {"--replicaof", "127.0.0.1 " + std::to_string(master.port())}}};
  std::string of = "a replica of 127.0.0.1:" + std::to_string(master.port()) + ", ";

  Pair() {
    REQUIRE(comes_to_say("master_link_status:up"));
    hold(master, "job", 0);
    REQUIRE(master.is_replicated());
    REQUIRE(wait_until([&] {
      return has(master.command({"INFO", "replication"}), "state=online");
    }));
  }
  [[nodiscard]] bool comes_to_say(const std::string& text) const {
    return wait_until([&] { return has(replica.command({"INFO", "replication"}), text); });
  }
  void cut_off() {
    master.stop();
    REQUIRE(comes_to_say("master_link_status:down"));
  }
};

Result watch_until(const Server& server, const std::string& state, const std::string& name) {
  return invoke(server, {"watch", "--until", state, "--for", "20s", name});
}

// Returns how many waiters are in the queue of "job", none of which has ended its wait.
void add_waiters(const Server& server, int count) {
  server.command({"EVAL",
                  "local t = redis.call('time')[1] * 1000 for i = 1, ARGV[1] do "
                  "local w = ARGV[2] .. ':' .. i redis.call('rpush', KEYS[1], w) "
                  "redis.call('zadd', KEYS[2], t + 300000 * i, w) end",
                  "2", k_queue, k_scores, std::to_string(count), k_foreign_client});
}

}  // namespace

TEST_CASE("replica: commands that look say of which master it is, and how old its data is") {
  Pair pair;
  const std::string told = pair.replica.unix_url() + ": " + pair.of + "which it heard from ";
  for (const Words& words : {Words{"list"}, Words{"list", "nothing"}, Words{"list", "--json"},
                             Words{"inspect-queue", "job"}, Words{"inspect-queue", "--json", "job"},
                             Words{"watch", "--for", "0", "job"}}) {
    CAPTURE(words);
    const Result result = invoke(pair.replica, words);
    CAPTURE(result.err);
    CHECK(result.status == 0);
    CHECK(has(result.err, told));
    CHECK(has(result.err, " ago: what it shows may be that old\n"));
    CHECK_FALSE(has(result.out, told));
  }
  CHECK(invoke(pair.replica, {"-q", "inspect-queue", "job"}).err.empty());
  const std::string json = invoke(pair.replica, {"inspect-queue", "--json", "job"}).out;
  CHECK(has(json, R"("role":"replica","replica_of":"127.0.0.1:)" +
                      std::to_string(pair.master.port()) + R"(","data_age_ms":)"));
  CHECK(has(invoke(pair.replica, {"list", "--json"}).out, R"("role":"replica")"));
  CHECK(has(invoke(pair.replica, {"watch", "--json", "--for", "0", "job"}).out,
            R"("role":"replica")"));
  CHECK(watch_until(pair.replica, "held", "job").status == 0);
  CHECK(watch_until(pair.replica, "free", "other").status == 0);
  const Result sick = doctors::doctor(pair.replica);
  CHECK(sick.status == 1);
  CHECK(has(sick.out, pair.of + "which it heard from "));
  CHECK(has(invoke(pair.master, {"inspect-queue", "--json", "job"}).out,
            R"("role":"master","replica_of":null,"data_age_ms":null)"));
  CHECK(invoke(pair.master, {"list"}).err.empty());
  Pty screen(argv_for(pair.replica, {"watch", "job"}), {.columns = 200});
  screen.expect(told);
}

TEST_CASE("replica: cut off from its master, it is told as such, and nothing as free") {
  Pair pair;
  add_waiters(pair.master, 3);
  pair.master.command({"RPUSH", "redisson_lock_queue:{other}", k_foreign_owner});
  REQUIRE(pair.master.is_replicated());
  pair.cut_off();
  const std::string told = pair.of + "cut off from it for at least ";
  for (const Words& words :
       {Words{"list"}, Words{"list", "nothing"}, Words{"list", "--json"},
        Words{"inspect-queue", "other"}, Words{"inspect-queue", "--json", "other"}}) {
    CAPTURE(words);
    const Result result = invoke(pair.replica, words);
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.status == 0);
    CHECK(has(result.err, told));
    CHECK_FALSE(has(result.out, "free"));
    CHECK_FALSE(has(result.out, "of them dead"));
    CHECK_FALSE(has(result.out, R"("alive":false)"));
    CHECK_FALSE(has(result.out, R"("alive":true)"));
    if (words.size() == 1 || words[1] != "nothing") CHECK(has(result.out, "unknown"));
  }
  CHECK(has(invoke(pair.replica, {"inspect-queue", "other"}).out,
            "other: unknown, because this replica's data is old\n"));
  CHECK(has(invoke(pair.replica, {"inspect-queue", "job"}).out, "3 waiters, all perhaps dead\n"));
  CHECK(has(invoke(pair.replica, {"inspect-queue", "other"}).out, "1 waiter, perhaps dead\n"));
  const std::string why = "it is unknown whether 3 waiters are alive: " + k_foreign_client +
                          ":1 and 2 more; this replica no longer hears from its master";
  const std::string hint =
      "rlock -r redis://127.0.0.1:" + std::to_string(pair.master.port()) + " inspect-queue job";
  for (const Words& words : {Words{"inspect-queue", "job"}, Words{"inspect-queue", "--json", "job"},
                             Words{"doctor", "job"}, Words{"doctor", "--json", "job"}}) {
    CAPTURE(words);
    const std::string text = invoke(pair.replica, words).out;
    CHECK(has(text, "unknown_waiters"));
    CHECK(has(text, why.substr(0, 50)));
    CHECK(has(text, hint));
  }
  CHECK(has(invoke(pair.replica, {"inspect-queue", "--json", "job"}).out, why));
  const Result list = invoke(pair.replica, {"list", "--json"});
  CHECK(has(list.out, R"("unknown_waiter_count":3)"));
  CHECK(has(list.out, R"("unknown_waiter_count":1)"));
  CHECK(has(list.err, "it is unknown whether 4 waiters are alive"));
  const Result sick = doctors::doctor(pair.replica);
  CHECK(sick.status == 1);
  CHECK(has(sick.out, told));
  CHECK_FALSE(has(sick.out, "dead_head"));
  CHECK_FALSE(has(sick.out, "healthy"));
}

TEST_CASE("replica: watch refuses on one that is cut off from its master") {
  Pair pair;
  pair.cut_off();
  for (const Words& words : {Words{"--until", "free"}, Words{"--until", "held"}, Words{}}) {
    Words all{"watch", "--for", "20s", "job"};
    all.insert(all.end(), words.begin(), words.end());
    const Result result = invoke(pair.replica, all);
    CHECK(result.status == 69);
    CHECK(has(result.err, pair.of + "cut off from it"));
    CHECK(has(result.err, "; ask the master: rlock -r redis://127.0.0.1:" +
                              std::to_string(pair.master.port()) + " watch job"));
    CHECK(result.out.empty());
  }
  // Never connected.
  Server replica;
  replica.command({"REPLICAOF", "127.0.0.1", std::to_string(free_port())});
  const Result result = watch_until(replica, "free", "job");
  CHECK(result.status == 69);
  CHECK(has(result.err, ", cut off from it: how old its data is, is unknown"));
}

TEST_CASE("replica: what happens at a replica after it was cut off is no release") {
  Pair pair;
  Process watch(argv_for(pair.replica, {"watch", "--until", "free", "job"}));
  watch.wait_for_stdout("job is held");
  pair.cut_off();
  watch.wait_for_stdout("error: " + pair.replica.unix_url() + ": " + pair.of);
  pair.replica.command({"CONFIG", "SET", "replica-read-only", "no"});
  pair.replica.command({"DEL", "job"});
  pair.replica.command({"PUBLISH", "redisson_lock__channel:{job}", "0"});
  CHECK(watch.running());
  pair.replica.command({"REPLICAOF", "NO", "ONE"});
  const Result result = watch.wait();
  CHECK(result.status == 0);
  const std::size_t back = result.out.find("the server is back");
  REQUIRE(back != std::string::npos);
  CHECK(result.out.find("is free") > result.out.find("error: "));
}

TEST_CASE("replica: a user without the right to INFO is served, and the role is unknown") {
  Pair pair;
  for (const Server* server : {&pair.master, &pair.replica}) {
    server->command({"ACL", "SETUSER", "bob", "on", ">p", "~*", "&*", "+@all", "-info"});
    const std::string url = "redis://bob:p@127.0.0.1:" + std::to_string(server->port());
    CHECK(has(invoke(url, {"inspect-queue", "--json", "job"}).out,
              R"("role":null,"replica_of":null,"data_age_ms":null)"));
    CHECK(has(invoke(url, {"list"}).out, "job"));
    CHECK(invoke(url, {"watch", "--until", "free", "--for", "20s", "other"}).status == 0);
  }
}

TEST_CASE(
    "replica: a master with replicas tells how many waiters may be dead, and what would tell") {
  Pair pair;
  pair.master.command({"PEXPIRE", "job", "600000"});
  add_waiters(pair.master, 499);
  const std::string first = k_foreign_client + ":1";
  const std::string unknown = "it is unknown whether 499 waiters are alive: " + first +
                              " and 498 more; nobody listens for them at this server, but they "
                              "may listen at 127.0.0.1:" +
                              std::to_string(pair.replica.port());
  const std::string hint =
      "rlock -r redis://127.0.0.1:" + std::to_string(pair.replica.port()) + " inspect-queue job\n";
  for (const Words& words : {Words{"doctor"}, Words{"doctor", "job"}}) {
    const Result result = invoke(pair.master, words);
    CAPTURE(result.out);
    CHECK(result.status == 0);
    CHECK(has(result.out, "job: note: unknown_waiters\n"));
    CHECK(has(result.out, "1 and 498 more"));
    CHECK(has(result.out, hint));
    CHECK_FALSE(has(result.out, "healthy"));
    CHECK(has(result.out, "no problem found, but not everything is known"));
  }
  const std::string state = invoke(pair.master, {"inspect-queue", "job"}).out;
  CHECK(has(state, "499 waiters, all perhaps dead\n"));
  CHECK(has(state, "unknown_waiters: " + unknown));
  CHECK(has(state, hint));
  const std::string json = invoke(pair.master, {"inspect-queue", "--json", "job"}).out;
  CHECK(has(json, R"("notes":[{"code":"unknown_waiters")"));
  CHECK(has(invoke(pair.master, {"list"}).err, "it is unknown whether 499 waiters are alive"));
  CHECK(has(invoke(pair.master, {"list", "--json"}).out, R"("unknown_waiter_count":499)"));

  // The replica knows who listens there, and no more.
  REQUIRE(pair.master.is_replicated());
  RespClient listener = pair.replica.connect();
  listener.call({"SUBSCRIBE", "redisson_lock__channel:{job}:" + first});
  const std::string there = invoke(pair.replica, {"inspect-queue", "job"}).out;
  CHECK(has(there, "499 waiters, 498 of them perhaps dead\n"));
  CHECK_FALSE(has(there, "dead_head"));
}

TEST_CASE("replica: commands that change something name the master, and work there") {
  Pair pair;
  const std::string port = std::to_string(pair.master.port());
  pair.master.command({"RPUSH", k_queue, k_foreign_client + ":1"});
  pair.master.command({"ZADD", k_scores, "1000", k_foreign_client + ":1"});
  pair.master.command({"SET", remedies::k_token, "7", "PX", "600000"});
  REQUIRE(pair.master.is_replicated());
  for (const Words& words :
       {Words{"inspect-queue", "job"}, Words{"inspect-queue", "--json", "job"}, Words{"doctor"},
        Words{"watch", "--for", "0", "job"}, Words{"list", "--json"}}) {
    CAPTURE(words);
    const std::string text = invoke(pair.replica, words).out;
    for (const char* change : {" evict", " unlock"}) {
      CHECK_FALSE(has(text, pair.replica.unix_url() + change));
    }
    if (words[0] != "watch") CHECK(has(text, "rlock -r redis://127.0.0.1:" + port + " evict job"));
  }
  const std::string text = invoke(pair.replica, {"inspect-queue", "job"}).out;
  Words hints = remedies::commands_in(text, "hint: ");
  REQUIRE(hints.size() == 3);  // no_expiry, which wakes the queue, dead_head and token_expires
  std::reverse(hints.begin(), hints.end());
  for (const std::string& hint : hints) remedies::paste(hint, {});
  CHECK(pair.master.command({"EXISTS", "job", k_queue}) == "0");
  CHECK(pttl(pair.master, remedies::k_token) == -1);
}

TEST_CASE("replica: of a free lock whose waiters may be dead, no sleeping waiter is told") {
  Pair pair;
  pair.master.command({"DEL", "job"});
  add_waiters(pair.master, 1);
  const Words found = doctors::findings(pair.master, {"job"});
  CHECK(found == Words{"note unknown_waiters"});
  // One that is known to listen sleeps.
  RespClient listener = pair.master.connect();
  listener.call({"SUBSCRIBE", k_channel + ":" + k_foreign_client + ":1"});
  CHECK(doctors::findings(pair.master, {"job"}) == Words{"note sleeping_waiter"});
}

TEST_CASE("replica: one that refuses requests is told with its master") {
  Pair pair;
  const std::string master = "127.0.0.1:" + std::to_string(pair.master.port());
  const Result taken = invoke(pair.replica, {"exec", "--timeout", "300ms", "job", "--", "true"});
  CHECK(taken.status == 69);
  CHECK(has(taken.err, "connect to its master: " + master + "; the server says: "));
  pair.replica.command({"CONFIG", "SET", "replica-serve-stale-data", "no"});
  pair.cut_off();
  for (const Words& words :
       {Words{"list"}, Words{"inspect-queue", "job"}, Words{"doctor"}, Words{"watch", "job"},
        Words{"evict", "job", "a:1"}, Words{"unlock", "--force", "-y", "job"},
        Words{"exec", "job", "--", "true"}}) {
    CAPTURE(words);
    Words all = words;
    all.insert(all.begin() + 1, {"--timeout", "300ms"});
    const Result result = invoke(pair.replica, all);
    CHECK(result.status == 69);
    CHECK(has(result.err, "connect to the master: " + master + "; the server says: "));
  }
}
