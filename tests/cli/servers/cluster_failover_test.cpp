// Cluster: a master is killed, and its replica takes over, or nobody does.
// Labels: long unsanitized
#include <string>

#include "cli/servers/cluster_fixture.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

// Failovers come soon while it lives.
struct Impatience {
  Impatience() { cluster().set_node_timeout(2s); }
  ~Impatience() { cluster().set_node_timeout(5s); }
  Impatience(const Impatience&) = delete;
  Impatience& operator=(const Impatience&) = delete;
};

}  // namespace

TEST_CASE("cluster: a holder and waiters survive that the master is killed") {
  const Impatience impatience;
  const std::string name = cluster().name_on(0);
  Holder holder(name, {"--lease", "45s"});
  holder.wait_until_held();
  Holder waiter(name, {"--lease", "10m"});
  REQUIRE(come_to_wait(name));
  const std::string fair = cluster().name_on(0);
  Holder fair_holder(fair, {"--fair", "--lease", "10m"});
  fair_holder.wait_until_held();
  Holder fair_waiter(fair, {"--fair", "--lease", "10m"});
  const std::string queue = "redisson_lock_queue:{" + fair + "}";
  REQUIRE(wait_until([&] { return cluster().command(queue, {"LLEN", queue}) == "1"; }));
  // All of that has reached the replica.
  REQUIRE(cluster().node(0).is_replicated());

  cluster().node(0).stop();
  REQUIRE(cluster().wait_for_takeover(name, 0));
  CHECK(cluster().owner(name) == 3);
  long before = pttl(name);
  CHECK(before > 0);
  CHECK(wait_until([&] {
    const long now = pttl(name);
    const bool is_renewed = now > before;
    before = now;
    return is_renewed;
  }));
  REQUIRE(come_to_wait(name));
  holder.release();
  waiter.wait_until_held();
  fair_holder.release();
  fair_waiter.wait_until_held();
  waiter.release();
  fair_waiter.release();
  check_nothing_left();
  // The old one comes back as a replica.
  cluster().node(0).start();
  REQUIRE(cluster().wait_until_whole());
}

TEST_CASE("cluster: one that has lost a master is down until it is back") {
  const Impatience impatience;
  const std::string name = cluster().name_on(1);
  Holder holder(name, {"--lease", "10m"});
  holder.wait_until_held();
  Holder waiter(name, {"--lease", "10m"});
  REQUIRE(come_to_wait(name));
  cluster().node(5).stop();
  cluster().node(2).stop();
  REQUIRE(wait_until([&] {
    return has(cluster().node(1).command({"CLUSTER", "INFO"}), "cluster_state:fail");
  }));
  check_refused(run(words({"--timeout", "6s", "exec", "-n", name, "--", "true"})), 69,
                "CLUSTERDOWN");
  CHECK(holder.process.running());
  cluster().node(2).start();
  cluster().node(5).start();
  REQUIRE(cluster().wait_until_whole());
  holder.release();
  waiter.wait_until_held();
  waiter.release();
}

TEST_CASE("cluster: a node that hangs is passed by as soon as another has its slots") {
  const Impatience impatience;
  const std::string name = cluster().name_on(1);
  cluster().node(1).pause();
  Process waiter(words({"exec", "-w", "60s", name, "--", "true"}));
  REQUIRE(wait_until([&] { return has(cluster().node(4).command({"ROLE"}), "master"); }));
  CHECK(invoke({"--timeout", "30s", "exec", name, "--", "true"}).status == 0);
  cluster().node(1).resume();
  REQUIRE(cluster().wait_until_whole());
  waiter.wait();
}

TEST_CASE("cluster: what a master of old grants to one who waits is none") {
  const Impatience impatience;
  const std::string name = "granted-twice";
  const std::size_t old = cluster().owner(name);
  cluster().command(name, {"HSET", name, "other:1", "1"});
  Process waiter(words({"--timeout", "60s", "exec", name, "--", "sh", "-c", "echo got; cat"}),
                 {.hold_stdin = true});
  REQUIRE(come_to_wait(name));
  const Deadline asked_again(6500ms);
  cluster().command(name, {"PEXPIRE", name, "4000"});
  cluster().node(old).pause();
  Server& replica = cluster().node((old + 3) % 6);
  REQUIRE(wait_until([&] { return has(replica.command({"ROLE"}), "master"); }));
  Holder holder(name, {"--lease", "1m"});
  holder.wait_until_held();
  // The waiter's next request waits there for an answer.
  REQUIRE(wait_until([&] { return asked_again.passed(); }));
  cluster().node(old).resume();
  CHECK(wait_until([&] { return listeners(name) == 2 || !waiter.out().empty(); }));
  CHECK(waiter.running());
  CHECK(waiter.out().empty());
  holder.release();
  waiter.wait_for_stdout("got");
  waiter.close_stdin();
  CHECK(waiter.wait().status == 0);
  REQUIRE(cluster().wait_until_whole());
}
