// Sentinel: the master is found, and found again after a failover, whoever waits or holds
// meanwhile.
// Labels: long server
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "support/invoke.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/sentinels.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

void check_refused(const Result& result, int status, const std::string& why) {
  CAPTURE(result.err);
  CHECK(result.status == status);
  CHECK(result.err.starts_with("rlock: "));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK(has(result.err, why));
}

// Holds "job" until its input ends.
struct Holder {
  explicit Holder(const std::string& url, const std::string& lease)
      : process(argv_for(url, {"exec", "--lease", lease, "job", "--", "sh", "-c", "echo got; cat"}),
                {.hold_stdin = true}) {}
  Process process;
};

}  // namespace

TEST_CASE("sentinel: every command finds the master") {
  Sentinels group({.replicas = 1, .sentinels = 1});
  const std::string url = group.url();
  CHECK(invoke(url, {"exec", "job", "--", "true"}).status == 0);
  const Result acquired = invoke(url, {"acquire", "--no-watchdog", "--lease", "60s", "job"});
  REQUIRE(acquired.status == 0);
  const std::string owner = acquired.out.substr(0, acquired.out.find('\n'));
  CHECK(group.server(0).command({"HGET", "job", owner}) == "1");
  CHECK(invoke(url, {"renew", "--owner", owner, "job"}).status == 0);
  CHECK(has(invoke(url, {"inspect-queue", "--json", "job"}).out, owner));
  CHECK(has(invoke(url, {"list"}).out, "job"));
  const Result doctor = invoke(url, {"doctor"});
  CHECK(doctor.status == 0);
  CHECK(has(doctor.out, "redis-cli -h 127.0.0.1 -p " + std::to_string(group.server(0).port())));
  CHECK(invoke(url, {"exec", "-n", "job", "--", "true"}).status == 75);
  CHECK(invoke(url, {"unlock", "--owner", owner, "job"}).status == 0);
  CHECK(group.server(0).keys().empty());

  // One that is dead costs nothing. Less than a majority is enough when half of the time is over.
  const std::string two = Sentinels::url_of({free_port(), group.sentinel(0).port()});
  CHECK(invoke(two, {"exec", "job", "--", "true"}).status == 0);
  Server hangs;
  hangs.pause();
  const std::string hung = Sentinels::url_of({hangs.port(), group.sentinel(0).port()});
  CHECK(invoke(hung, {"--timeout", "10s", "exec", "job", "--", "true"}).status == 0);

  check_refused(
      invoke(Sentinels::url_of({free_port(), free_port()}), {"exec", "job", "--", "true"}), 69,
      "no sentinel answers");
  check_refused(invoke(Sentinels::url_of({group.sentinel(0).port()}, "other"), {"list"}), 78,
                "no sentinel knows a master called other");
  check_refused(invoke(Sentinels::url_of({group.server(0).port()}), {"list"}), 78,
                "not a sentinel");
  group.server(0).pause();
  check_refused(invoke(url, {"--timeout", "2s", "exec", "job", "--", "true"}), 69,
                "the master is down");
  group.server(0).resume();
}

TEST_CASE("sentinel: a replica that is called the master is not taken for one") {
  Sentinels group({.replicas = 1, .sentinels = 3, .down_after_ms = 600'000});
  const auto monitor = [&](std::size_t sentinel, std::size_t server) {
    CHECK(group.sentinel(sentinel).command({"SENTINEL", "MONITOR", "other", "127.0.0.1",
                                            std::to_string(group.server(server).port()), "2"}) ==
          "OK");
  };
  monitor(0, 1);
  const std::uint16_t wrong = group.sentinel(0).port();
  check_refused(invoke(Sentinels::url_of({wrong}, "other"), {"--timeout", "5s", "list"}), 69,
                "is a replica");
  // Of those that know of as many failovers, most count.
  monitor(1, 0);
  const std::uint16_t right = group.sentinel(1).port();
  check_refused(invoke(Sentinels::url_of({wrong, right}, "other"), {"--timeout", "5s", "list"}), 69,
                "the sentinels do not agree on a master");
  monitor(2, 0);
  const std::string mixed = Sentinels::url_of({wrong, right, group.sentinel(2).port()}, "other");
  for (int i = 0; i < 5; ++i) {
    CHECK(invoke(mixed, {"--timeout", "20s", "exec", "job", "--", "true"}).status == 0);
  }
}

TEST_CASE("sentinel: the password goes to the servers, and to sentinels that ask for one") {
  for (const bool of_sentinels : {false, true}) {
    CAPTURE(of_sentinels);
    SentinelOptions options{.replicas = 0, .sentinels = 1};
    options.server_args = {"--requirepass", "secret", "--masterauth", "secret"};
    if (of_sentinels) options.sentinel_args = {"--requirepass", "secret"};
    Sentinels group(options);
    const std::string bare = group.url();
    std::string url = bare;
    url.insert(url.find("127"), ":secret@");
    CHECK(invoke(url, {"exec", "job", "--", "true"}).status == 0);
    check_refused(invoke(bare, {"exec", "job", "--", "true"}), 77, "NOAUTH");
    url.replace(url.find("secret"), 6, "wrong");
    check_refused(invoke(url, {"exec", "job", "--", "true"}), 77, "WRONGPASS");
  }
}

TEST_CASE("sentinel: holder and waiter survive a failover of a lock that was replicated") {
  Sentinels group;
  const std::string url = group.url();
  Holder holder(url, "36s");
  holder.process.wait_for_stdout("got");
  Holder waiter(url, "15s");
  Holder other(url, "15s");
  Server& replica = group.server(1);
  REQUIRE(wait_until([&] { return replica.command({"EXISTS", "job"}) == "1"; }));
  REQUIRE(comes_to_wait(group.server(0), "job", 2));
  group.server(0).stop();
  REQUIRE(group.wait_for_master(replica));
  long before = pttl(replica, "job");
  REQUIRE(before > 0);
  REQUIRE(wait_until([&] {
    const long now = pttl(replica, "job");
    const bool is_renewed = now > before;
    before = now;
    return is_renewed;
  }));
  CHECK(holder.process.running());
  CHECK(waiter.process.out().empty());
  holder.process.close_stdin();
  const Result held = holder.process.wait();
  CAPTURE(held.err);
  CHECK(held.status == 0);
  // The message comes by the new master.
  REQUIRE(wait_until([&] { return replica.command({"HLEN", "job"}) == "1"; }));
  waiter.process.close_stdin();
  other.process.close_stdin();
  CHECK(waiter.process.wait().status == 0);
  CHECK(other.process.wait().status == 0);
  // Requests that the old master has not answered are remembered until none can be under way.
  for (const std::string& key : replica.keys()) {
    CHECK(key.starts_with("redisson_unlock_latch:"));
    CHECK(pttl(replica, key) > 0);
  }
}

TEST_CASE("sentinel: a holder whose lock a failover has lost is ended") {
  Sentinels group;
  const std::string url = group.url();
  // What comes now does not reach the replica.
  group.server(1).pause();
  REQUIRE(group.server(0).command({"CLIENT", "KILL", "TYPE", "replica"}) == "1");
  Holder holder(url, "9s");
  holder.process.wait_for_stdout("got");
  group.server(0).stop();
  group.server(1).resume();
  REQUIRE(group.wait_for_master(group.server(1)));
  const Result lost = holder.process.wait();
  CAPTURE(lost.err);
  CHECK(lost.status == 79);
  CHECK(invoke(url, {"exec", "-n", "job", "--", "true"}).status == 0);
}

TEST_CASE("sentinel: who holds several locks goes on when no sentinel is there any more") {
  Sentinels group({.replicas = 0, .sentinels = 1});
  Process holder(argv_for(group.url(), {"exec", "--lease", "40s", "job", "other", "--", "cat"}),
                 {.hold_stdin = true});
  REQUIRE(wait_until([&] { return group.server(0).command({"EXISTS", "other"}) == "1"; }));
  const auto has_two = [&] {  // one is for the renewals, the first of which comes after 13 s
    const std::string clients = group.server(0).command({"CLIENT", "LIST"});
    return clients.find(" name=rlock:") != clients.rfind(" name=rlock:");
  };
  REQUIRE(wait_until(has_two, 8s));
  group.sentinel(0).stop();
  wait_for_renewal(group.server(0));
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
}
