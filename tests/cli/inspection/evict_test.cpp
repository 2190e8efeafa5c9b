// evict: what it says, how it ends, and what it leaves.
// Labels: rights-fair
#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/fair_lock.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

Result evict(const std::string& url, const std::string& owner, const Words& options = {}) {
  return run(rlock_argv("evict", "-r", url, options, "job", owner));
}

Result evict(const Server& server, const std::string& owner, const Words& options = {}) {
  return evict(server.unix_url(), owner, options);
}

void check_does_not_wait(const Result& result, const std::string& shown) {
  CHECK(result.status == 1);
  CHECK(result.out.empty());
  CHECK(result.err == "rlock: job: " + shown + " is not waiting for this lock\n");
}

}  // namespace

TEST_CASE("evict takes a dead waiter of Redisson out of the queue, and says so") {
  Server server;
  hold_by_other(server);
  for (const char* owner : {"r:1", "r:2", "r:3"}) CHECK_FALSE(Peer(server, owner).acquire());
  SUBCASE("in a line") {
    const Result result = evict(server, "r:2");
    CHECK(result.status == 0);
    CHECK(result.out.empty());
    CHECK(result.err == "rlock: job: evicted r:2, position 2 in the queue\n");
  }
  SUBCASE("not with -q") {
    const Result result = evict(server, "r:2", {"-q"});
    CHECK(result.status == 0);
    CHECK(result.err.empty());
    CHECK(evict(server, "r:2", {"-q"}).err.empty());
  }
  SUBCASE("as JSON") {
    const Result result = evict(server, "r:2", {"--json"});
    CHECK(result.status == 0);
    CHECK(result.out == R"({"name":"job","owner":"r:2","position":2,"was_alive":false})"
                        "\n");
    CHECK(result.err.empty());
  }
  CHECK(queue(server) == Words{"r:1", "r:3"});
  check_does_not_wait(evict(server, "r:2"), "r:2");
}

TEST_CASE("evict says of whom it evicted, and that one who lives will queue again") {
  Server server;
  hold_by_other(server);
  Process first(fair_argv(server, {}, {"true"}));
  REQUIRE(comes_to_queue(server, 1));
  Process second(fair_argv(server, {}, {"true"}));
  REQUIRE(comes_to_queue(server, 2));
  const Words waiters = queue(server);
  SUBCASE("a living one") {
    const Result result = evict(server, waiters[0]);
    CHECK(result.status == 0);
    CHECK(has(result.err, " pid " + std::to_string(first.pid()) + " (true), owner " + waiters[0] +
                              ", position 1 in the queue; it seems alive, and will join the queue "
                              "again at the end\n"));
    // As soon as it looks.
    server.command({"PUBLISH", k_channel + ":" + waiters[0], "0"});
    CHECK(wait_until([&] { return queue(server) == Words{waiters[1], waiters[0]}; }));
  }
  SUBCASE("a dead one") {
    first.signal_group(SIGKILL);
    first.wait();
    make_overdue(server, waiters[0]);
    const Result result = evict(server, waiters[0]);
    CHECK(result.status == 0);
    CHECK(result.err.ends_with(" (true), owner " + waiters[0] + ", position 1 in the queue\n"));
    CHECK(queue(server) == Words{waiters[1]});
  }
  let_go(server);
  CHECK(second.wait().status == 0);
}

TEST_CASE("evict: the next gets a lock that is free, when a dead head is gone") {
  Server server;
  hold_by_other(server);
  CHECK_FALSE(Peer(server, "r:1").acquire());
  Process next(fair_argv(server, {}, {"echo", "got"}));
  REQUIRE(comes_to_queue(server, 2));
  server.command({"DEL", "job"});
  CHECK(evict(server, "r:1").status == 0);
  CHECK(next.wait().out == "got\n");
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("evict never touches a holder, and needs a queue") {
  Server server;
  check_does_not_wait(evict(server, "u:1"), "u:1");
  CHECK(server.keys().empty());
  hold_by_other(server);
  const std::string before = server.command({"DUMP", "job"});
  check_does_not_wait(evict(server, "other:1"), "other:1");
  CHECK(server.command({"DUMP", "job"}) == before);
}

TEST_CASE("evict takes the bytes of an owner, or how inspect-queue shows them") {
  Server server;
  hold_by_other(server);
  const std::string strange = "\x1b[31m\xff:1";
  for (const std::string& owner : {strange, std::string("[a,b]"), std::string("++")}) {
    server.command({"RPUSH", k_queue, owner});
    server.command({"ZADD", k_scores, "9999999999999", owner});
  }
  const std::string shown = "\\x1b[31m\\xff:1";
  SUBCASE("the bytes") {
    CHECK(evict(server, strange).err.starts_with("rlock: job: evicted \\x1b"));
  }
  SUBCASE("what is shown") {
    const Result result = evict(server, shown);
    CHECK(result.status == 0);
    CHECK(result.err == "rlock: job: evicted " + shown + ", position 1 in the queue\n");
  }
  SUBCASE("what the JSON has") {
    CHECK(evict(server, "\x1b[31m\\xff:1", {"--json"}).out.starts_with(R"({"name":"job")"));
  }
  SUBCASE("not what fits two") {
    const std::string other = "\x1b[31m\\xff:1";  // shown alike
    server.command({"RPUSH", k_queue, other});
    check_does_not_wait(evict(server, shown), shown);
    CHECK(evict(server, other).status == 0);
    CHECK(evict(server, shown).status == 0);
  }
  CHECK(queue(server) == Words{"[a,b]", "++"});
  CHECK(evict(server, "[a,b]").status == 0);
  CHECK(evict(server, "++").status == 0);
  CHECK(queue(server).empty());
  CHECK(server.command({"EXISTS", k_scores}) == "0");
}

TEST_CASE("evict removes what is half a waiter") {
  Server server;
  server.command({"ZADD", k_scores, "1", "orphan"});
  CHECK(evict(server, "orphan").err ==
        "rlock: job: evicted orphan, which had a deadline but was not in the queue\n");
  server.command({"RPUSH", k_queue, "scoreless"});
  CHECK(evict(server, "scoreless", {"--json"}).out ==
        R"({"name":"job","owner":"scoreless","position":1,"was_alive":false})"
        "\n");
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("S6: an eviction whose reply was lost counts once" * doctest::test_suite("S6")) {
  Server server;
  Proxy proxy(server.port());
  hold_by_other(server);
  for (const char* owner : {"r:1", "r:2", "r:3"}) CHECK_FALSE(Peer(server, owner).acquire());
  const long long second = std::stoll(server.command({"ZSCORE", k_scores, "r:2"}));
  REQUIRE(evict(server, "x").status == 1);  // the server knows the script now
  proxy.cut_after_next_request("EVALSHA");
  const Result result = evict(proxy.url(), "r:2");
  CHECK(result.status == 0);
  CHECK(result.err == "rlock: job: evicted r:2, position 2 in the queue\n");
  CHECK(proxy.cuts() == 1);
  CHECK(std::stoll(server.command({"ZSCORE", k_scores, "r:3"})) == second);
}
