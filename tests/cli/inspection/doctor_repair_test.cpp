// doctor --repair: what it repairs, and what it leaves.
// Labels: server
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/inspection/doctor_fixture.hpp"
#include "support/fair_lock.hpp"
#include "support/foreign_owner.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/resp.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::doctors;

TEST_CASE("doctor --dry-run tells what --repair would do, and --repair does just that") {
  Server server(durable());
  hold_by_other(server);
  Peer live(server, "j:live");
  server.command({"RPUSH", k_queue, "scoreless:1"});
  CHECK_FALSE(live.acquire());
  live.listen();
  server.command({"ZADD", k_scores, "99999999999999", "orphan:1"});
  const std::string before = server.command({"DUMP", k_queue}) + server.command({"DUMP", k_scores});
  const Result dry = doctor(server, {"--dry-run"});
  CHECK(dry.status == 1);
  CHECK(server.command({"DUMP", k_queue}) + server.command({"DUMP", k_scores}) == before);
  CHECK(has(dry.out, "job: repairable: member_without_score\n"));
  CHECK(has(dry.out, "job: repairable: score_without_member\n"));
  CHECK_FALSE(has(dry.out, "problem: "));  // each finding stands there once
  CHECK(has(dry.out, " 2 repairable\n"));
  const Result real = doctor(server, {"--repair", "job"});
  CHECK(real.status == 0);
  CHECK(has(real.out, "job: repaired: member_without_score\n"));
  CHECK(has(real.out, "because without a deadline: scoreless:1\n"));
  CHECK(has(real.out, "healthy, "));
  CHECK(queue(server) == Words{"j:live"});
  CHECK(doctor(server, {"--repair"}).status == 0);
}

TEST_CASE("doctor --dry-run tells a dead head once, as what would be removed, and is not healthy") {
  Server server(durable());
  hold_by_other(server);
  server.command({"RPUSH", k_queue, "j:dead"});
  server.command({"ZADD", k_scores, "1000", "j:dead"});
  CHECK(findings(server) == Words{"problem dead_head"});
  CHECK(findings(server, {"--dry-run"}) == Words{"repairable dead_waiter"});
  CHECK(doctor(server, {"--dry-run"}).status == 1);
  server.command({"LPUSH", k_queue, "scoreless:1"});
  CHECK(findings(server, {"--dry-run"}) ==
        Words{"repairable dead_waiter", "repairable member_without_score"});
}

TEST_CASE("doctor --repair removes a dead waiter behind a living one, which is no problem") {
  Server server(durable());
  hold_by_other(server);
  Peer live(server, "j:live");
  CHECK_FALSE(live.acquire());
  live.listen();
  server.command({"RPUSH", k_queue, "j:dead"});
  server.command({"ZADD", k_scores, "1000", "j:dead"});
  CHECK(findings(server).empty());
  CHECK(findings(server, {"--dry-run"}) == Words{"repairable dead_waiter"});
  CHECK(queue(server) == Words{"j:live", "j:dead"});
  CHECK(findings(server, {"--repair"}) == Words{"repaired dead_waiter"});
  CHECK(queue(server) == Words{"j:live"});
}

TEST_CASE("doctor --repair finds no problem in a semaphore whose last permit it has given back") {
  Server server(durable());
  server.command({"SET", "sem", "1"});
  server.command({"ZADD", "{sem}:timeout", "1000000000000", "0123456789abcdef"});
  const Result result = doctor(server, {"--repair"});
  CHECK(result.status == 0);
  CHECK(has(result.out, "sem: repaired: ended_permit"));
  CHECK_FALSE(has(result.out, "no_expiry"));
  CHECK(server.command({"GET", "sem"}) == "2");
}

TEST_CASE("doctor: a waiter that sleeps on although the lock is free is noted, and woken") {
  Server server(durable());
  SUBCASE("a plain one, of all locks or of one") {
    RespClient waiter(connect_unix(server.unix_path()));
    waiter.call({"SUBSCRIBE", k_channel});
    CHECK(findings(server) == Words{"note sleeping_waiter"});
    CHECK(findings(server, {"job"}) == Words{"note sleeping_waiter"});
    const Result result = doctor(server);
    CHECK(result.status == 0);
    const std::string program = rlock_argv()[0];
    run({"bash", "-c", "rlock() { \"$0\" \"$@\"; }; " + confirmed(remedies(result.out).back()),
         program});
    CHECK(waiter.call({"PING"}).at(0) == "message");
    hold_by_other(server);
    CHECK(findings(server).empty());
  }
  SUBCASE("the first in a queue") {
    hold_by_other(server);
    Peer java(server, k_foreign_owner);
    CHECK_FALSE(java.acquire());
    java.listen();
    CHECK(findings(server).empty());
    server.command({"DEL", "job"});
    CHECK(findings(server) == Words{"note sleeping_waiter"});
    run(rlock_argv("unlock", "--force", "-y", "-r", server.unix_url(), "job"));
    CHECK(java.messages() == 1);
  }
}
