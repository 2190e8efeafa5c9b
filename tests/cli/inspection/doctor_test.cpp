// doctor: what is wrong with a server and its locks, and the command that mends it.
// Labels: server quick
#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/inspection/doctor_fixture.hpp"
#include "support/fair_lock.hpp"
#include "support/foreign_owner.hpp"
#include "support/process.hpp"
#include "support/resp.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::doctors;

namespace {

const std::string k_latch = "redisson_unlock_latch:{job}:0123456789abcdef";

// Runs a command that doctor has printed, as a person would paste it.
void paste(const std::string& printed) {
  const std::string command = confirmed(printed);
  const std::string program = rlock_argv()[0];
  const Result result =
      run({"bash", "-c", "rlock() { \"$0\" \"$@\"; }; " + command, program}, {.env = {}});
  CAPTURE(command);
  CAPTURE(result.err);
  CHECK(result.status == 0);
}

}  // namespace

TEST_CASE("doctor: latches without an expiry are found among thousands of other keys") {
  Server server(durable());
  server.command({"EVAL",
                  "for i = 1, 5000 do redis.call('set', 'app:' .. i, 1) end "
                  "for i = 1, 50 do redis.call('set', 'redisson_unlock_latch:{job' .. i .. "
                  "'}:0123456789abcdef', 'entered') end",
                  "0"});
  CHECK(findings(server).size() == 50);
}

TEST_CASE("doctor: strings that look like locks are counted as not looked at") {
  Server server(durable());
  server.command({"SET", "lock:1", std::string(32, 'a'), "PX", "600000"});
  CHECK(has(doctor(server).out,
            "looked at the server and 0 locks, not at 1 string that looks like "
            "a lock (see list --simple): healthy"));
  server.command({"SET", "lock:2", std::string(32, 'b'), "PX", "600000"});
  CHECK(has(doctor(server).out, ", not at 2 strings that look like locks (see list --simple): "));
  CHECK_FALSE(has(doctor(server, {"other"}).out, "string"));
}

TEST_CASE("doctor: a healthy server, and healthy locks") {
  Server server(durable());
  Result result = doctor(server);
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  CHECK(has(result.out, "looked at the server and 0 locks: healthy"));
  // Keys of an application that start like what lies beside a lock.
  server.command({"HSET", "rlock_info:x", "a", "b"});
  server.command({"HSET", "redisson_unlock_latch:{x}:1", "a", "b"});
  CHECK(has(doctor(server).out, "locks: healthy"));
  server.command({"DEL", "rlock_info:x", "redisson_unlock_latch:{x}:1"});
  Process holder(fair_argv(server, {}, {"sh", "-c", "echo held; cat"}), {.hold_stdin = true});
  holder.wait_for_stdout("held");
  Process waiter(fair_argv(server, {}, {"true"}));
  REQUIRE(comes_to_queue(server, 1));
  for (const Words& words : {Words{}, Words{"--repair"}, Words{"job"}, Words{"other"}}) {
    result = doctor(server, words);
    CAPTURE(result.out);
    CHECK(result.status == 0);
    CHECK(has(result.out, "looked at the server and 1 lock: healthy"));
    CHECK_FALSE(has(result.out, "job:"));
  }
  holder.close_stdin();
  CHECK(waiter.wait().status == 0);
}

TEST_CASE("doctor: a server that evicts is told, and mended by the command that it names") {
  Server server(durable());
  server.command({"CONFIG", "SET", "maxmemory", "100mb"});
  server.command({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
  const Result result = doctor(server);
  CHECK(result.status == 1);
  CHECK(has(result.out, "the server: problem: eviction\n"));
  for (const std::string& command : remedies(result.out)) {
    if (has(command, "maxmemory-policy")) paste(command);
  }
  CHECK(server.command({"CONFIG", "GET", "maxmemory-policy"}) == "maxmemory-policy\nnoeviction");
  CHECK(doctor(server).status == 0);
}

TEST_CASE("doctor: a server without persistence, and a young one, are notes, not problems") {
  Server server;
  const Result result = doctor(server);
  CHECK(result.status == 0);
  CHECK(has(result.out, "the server: note: no_persistence\n"));
  CHECK(has(result.out, "the server: note: fresh_restart\n"));
}

TEST_CASE("doctor: a replica is a problem; the command goes to the master") {
  Server master(durable());
  Server replica({.args = {"--replicaof", "127.0.0.1 " + std::to_string(master.port())}});
  REQUIRE(wait_until([&] {
    return has(replica.command({"INFO", "replication"}), "master_link_status:up");
  }));
  const Result result = doctor(replica);
  CHECK(result.status == 1);
  CHECK(has(result.out, "the server: problem: replica\n"));
  paste(remedies(result.out).at(0));
  CHECK(has(doctor(master).out, "note: failover"));
}

TEST_CASE("doctor: rights that the user lacks are named") {
  Server server(durable());
  server.command(
      {"ACL", "SETUSER", "locker", "on", ">password", "~*", "&*", "+@all", "-publish", "-zadd"});
  const std::string url = "redis://locker:password@127.0.0.1:" + std::to_string(server.port());
  const Result result = run(rlock_argv("doctor", "-r", url));
  CHECK(result.status == 1);
  CHECK(has(result.out, "the server: problem: rights\n"));
  CHECK(has(result.out, "that locks need: publish\n"));
  CHECK(has(result.out, "that fair locks need: zadd\n"));
  CHECK_FALSE(has(result.out, "password"));
  server.command(
      {"ACL", "SETUSER", "locker", "resetkeys", "~app:*", "~*{app:*", "+publish", "+zadd"});
  CHECK(run(rlock_argv("doctor", "-r", url)).status == 0);
  CHECK(run(rlock_argv("doctor", "-r", url, "app:1")).status == 0);
  CHECK(has(run(rlock_argv("doctor", "-r", url, "job")).out, "locks need: job\n"));
}

TEST_CASE("doctor: each thing that can be wrong with a lock is found") {
  Server server(durable());
  server.command({"HSET", "job", k_foreign_owner, "1"});
  SUBCASE("no expiry") {
    CHECK(findings(server) == Words{"problem no_expiry"});
    const Result result = doctor(server, {"job"});
    CHECK(result.status == 1);
    const std::string command = remedies(result.out).back();
    CHECK(command ==
          "rlock -r " + server.unix_url() + " unlock --force job  # if its holder is gone");
    paste(command);
    CHECK(server.command({"EXISTS", "job"}) == "0");
  }
  server.command({"PEXPIRE", "job", "600000"});
  SUBCASE("a queue and deadlines that do not fit") {
    server.command({"RPUSH", k_queue, "a:1", "b:1"});
    server.command({"ZADD", k_scores, "99999999999999", "c:1"});
    CHECK(findings(server) == Words{"problem dead_head", "problem member_without_score",
                                    "problem score_without_member"});
  }
  SUBCASE("a deadline that is too far ahead") {
    Peer java(server, "j:1", std::chrono::hours(24));
    CHECK_FALSE(java.acquire());
    java.listen();
    CHECK(findings(server) == Words{"problem deadline_far_ahead"});
    paste(remedies(doctor(server).out).back());
    CHECK(queue(server).empty());
  }
  SUBCASE("a latch and a side key that stay forever") {
    server.command({"SET", k_latch, "1"});
    server.command({"HSET", k_info, k_foreign_owner, "{}"});
    CHECK(findings(server) == Words{"problem lasting_info", "problem leaked_latch"});
    server.command({"DEL", "job"});
    CHECK(findings(server, {"job"}) == Words{"problem lasting_info", "problem leaked_latch"});
    for (const std::string& command : remedies(doctor(server).out)) {
      if (has(command, "--repair")) paste(command);
    }
    CHECK(findings(server).empty());
  }
  SUBCASE("keys of the wrong type") {
    server.command({"SET", k_queue, "x"});
    CHECK(findings(server) == Words{"problem wrong_kind"});
  }
}

TEST_CASE("doctor: a holder of this host that was killed is told as dead, but never repaired") {
  Server server(durable());
  Process holder(rlock_argv("exec", "--lease", "10m", "-r", server.unix_url(), "job", "--", "sh",
                            "-c", "echo held; exec sleep 600"));
  holder.wait_for_stdout("held");
  CHECK(findings(server).empty());
  holder.signal(SIGKILL);
  holder.wait();
  CHECK(findings(server) == Words{"problem dead_holder"});
  const std::string before = server.command({"DUMP", "job"});
  CHECK(findings(server, {"--repair"}) == Words{"problem dead_holder"});
  CHECK(server.command({"DUMP", "job"}) == before);
}

TEST_CASE("doctor: of a holder in another time namespace it is not told whether it is dead") {
  Server server(durable());
  Words argv = {"unshare", "--time", "--boottime", "5000", "--fork", "--kill-child"};
  const Words held = rlock_argv("exec", "--lease", "10m", "-r", server.unix_url(), "job", "--",
                                "sh", "-c", "echo held; exec cat");
  argv.insert(argv.end(), held.begin(), held.end());
  Process holder(argv, {.hold_stdin = true});
  if (!wait_until([&] { return has(holder.out(), "held") || !holder.running(); }) ||
      !holder.running()) {
    MESSAGE("skipped: no time namespace to be had: " << holder.err());
    return;
  }
  CHECK(findings(server).empty());
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
}

TEST_CASE("doctor: no command is shown for a name that no shell can pass on") {
  Server server(durable());
  const std::string name("a\0b", 3);
  server.command({"HSET", "a", k_foreign_owner, "1"});
  server.command({"PEXPIRE", "a", "600000"});
  server.command({"HSET", name, k_foreign_owner, "1"});
  server.command({"SET", "redisson_lock_token:{" + name + "}", "x"});
  const std::string out = doctor(server).out;
  CHECK(has(out, "a\\x00b: problem: no_expiry"));
  CHECK(has(out, "a\\x00b: problem: bad_token"));
  CHECK(has(out, "    hint: no shell can do it"));
  CHECK_FALSE(has(out, "unlock"));
  CHECK_FALSE(has(out, " DEL "));
}

TEST_CASE("doctor: no command is shown that would do nothing") {
  Server server(durable());
  server.command({"HSET", "redisson_lock_x", k_foreign_owner, "1"});
  const std::string reserved = doctor(server).out;
  CHECK(has(reserved, "redisson_lock_x: problem: no_expiry"));
  CHECK(has(reserved, "hint: rlock changes nothing of this name"));
  CHECK_FALSE(has(reserved, "unlock"));

  // An application's hash, as locks have no such counts.
  server.command({"FLUSHALL"});
  server.command({"HSET", "job", k_foreign_owner, "-5"});
  CHECK_FALSE(has(doctor(server, {"job"}).out, "unlock"));
  server.command({"RPUSH", k_queue, "w:1"});
  CHECK_FALSE(has(doctor(server, {"job"}).out, "unlock"));

  server.command({"FLUSHALL"});
  server.command({"RPUSH", k_queue, "w:1"});
  server.command({"SET", k_scores, "x"});
  const std::string out = doctor(server, {"job"}).out;
  CHECK(has(out, "wrong_kind"));
  CHECK_FALSE(has(out, "--repair"));

  // Where an application has the name, evict refuses; --repair removes the dead.
  server.command({"FLUSHALL"});
  server.command({"LPUSH", "job", "x"});
  server.command({"RPUSH", k_queue, "w:1"});
  server.command({"ZADD", k_scores, "1000", "w:1"});
  const std::string beside = doctor(server, {"job"}).out;
  CHECK(has(beside, "dead_head"));
  CHECK(has(beside, " doctor --repair job\n"));
  CHECK_FALSE(has(beside, "evict"));
  doctor(server, {"--repair", "job"});
  CHECK(server.command({"EXISTS", k_queue}) == "0");
}

TEST_CASE("doctor: a lock that outlives its process by intention has no dead holder") {
  Server server(durable());
  const Words url = {"-r", server.unix_url()};
  REQUIRE(run(rlock_argv("exec", "--at-least", "1h", "-r", server.unix_url(), "kept", "--", "true"))
              .status == 0);
  REQUIRE(run(rlock_argv("acquire", "--no-watchdog", "-r", server.unix_url(), "taken")).status ==
          0);
  CHECK(findings(server).empty());
}

TEST_CASE("doctor: a waiter of many NUL bytes does no harm") {
  Server server(durable());
  hold_by_other(server);
  const std::string waiter(100'000, '\0');
  server.command({"RPUSH", k_queue, waiter});
  server.command({"ZADD", k_scores, "1000", waiter});
  CHECK(findings(server) == Words{"problem dead_head"});
  CHECK(has(doctor(server).out, "    hint: no shell can do it"));
}

TEST_CASE("doctor: what may not be read is told, does not count, and is not called healthy") {
  Server server(durable());
  for (const char* name : {"app:1", "secret:1", "secret:2"}) {
    server.command({"HSET", name, k_foreign_owner, "1"});
    server.command({"PEXPIRE", name, "600000"});
  }
  server.command(
      {"ACL", "SETUSER", "viewer", "on", ">password", "~app:*", "~*:{app:*", "&*", "+@all"});
  const std::string url = "redis://viewer:password@127.0.0.1:" + std::to_string(server.port());
  const Result result = run(rlock_argv("doctor", "-r", url));
  CHECK(result.status == 0);
  CHECK(has(result.out, "looked at the server and 1 lock: no problem found there"));
  CHECK(result.err ==
        "rlock: doctor: 2 keys left out: they cannot be read, or hold more than a lock does\n");
  CHECK(run(rlock_argv("doctor", "-q", "-r", url)).err.empty());
  const Result named = run(rlock_argv("doctor", "-r", url, "secret:1"));
  CHECK(named.status == 77);
  CHECK_FALSE(has(named.out, "healthy"));
}

TEST_CASE("doctor: names and owners cannot touch the terminal, and its commands can be pasted") {
  Server server(durable());
  std::string name;
  SUBCASE("hostile") { name = "a'b\x1b[2J\n$(exit 9)"; }
  SUBCASE("like an option") { name = "-y"; }
  SUBCASE("with what looks like a server") { name = "x -r redis://127.0.0.1:1"; }
  server.command({"HSET", name, k_foreign_owner, "1"});
  const Result result = doctor(server);
  CHECK(result.status == 1);
  CHECK(std::all_of(result.out.begin(), result.out.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c == '\n' || (byte >= 0x20 && byte != 0x7f);
  }));
  paste(remedies(result.out).back());
  CHECK(server.command({"EXISTS", name}) == "0");
}

TEST_CASE("doctor: a server that is not there, or only partly to be looked at") {
  Server server(durable());
  server.command({"ACL", "SETUSER", "blind", "on", ">password", "~*", "&*", "+@all", "-info",
                  "-cluster", "-config"});
  const std::string url = "redis://blind:password@127.0.0.1:" + std::to_string(server.port());
  const Result blind = run(rlock_argv("doctor", "-r", url));
  CHECK(blind.status == 0);
  CHECK(has(blind.out, "the server: note: not_permitted\n"));
  server.stop();
  const Result gone = doctor(server);
  CHECK(gone.status == 69);
  CHECK(gone.out.empty());
}
