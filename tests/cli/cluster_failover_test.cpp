// Cluster: a master is killed, and its replica takes over, or nobody does.
#include <string>

#include "cli/cluster_fixture.hpp"

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

// Neither a replica takes a shard over, nor is the whole cluster down, while node 1 stands still.
struct StandingShard {
  StandingShard() {
    for (const std::size_t i : {0U, 2U}) set_full_coverage(i, "no");
  }
  StandingShard(const StandingShard&) = delete;
  StandingShard& operator=(const StandingShard&) = delete;
  ~StandingShard() {
    for (const std::size_t i : {1U, 4U}) cluster().node(i).resume();
    for (const std::size_t i : {0U, 2U}) set_full_coverage(i, "yes");
    CHECK(cluster().wait_until_whole());
  }
  static void pause() {
    for (const std::size_t i : {1U, 4U}) cluster().node(i).pause();
  }
  static void set_full_coverage(std::size_t node, const std::string& value) {
    cluster().node(node).command({"CONFIG", "SET", "cluster-require-full-coverage", value});
  }
};

TEST_CASE("cluster: several locks: who waits for a node that hangs keeps nothing on the others") {
  const std::string near = cluster().name_on(0);
  const std::string far = cluster().name_on(1);
  const StandingShard shard;
  StandingShard::pause();
  Process process(words({"exec", "--timeout", "1s", near, far, "--", "sh", "-c", "echo got"}));
  const auto is_held = [&] { return cluster().node(0).command({"EXISTS", near}) == "1"; };
  CHECK(wait_until(is_held));
  CHECK(wait_until([&] { return !is_held(); }, 25s));
  for (const std::size_t i : {1U, 4U}) cluster().node(i).resume();
  CHECK(process.wait().status == 0);
}

TEST_CASE(
    "cluster: several locks: a node that hangs keeps no lock of the others from its release") {
  const Words names{cluster().name_on(0), cluster().name_on(1), cluster().name_on(2)};
  const StandingShard shard;
  Words argv = words({"exec", "--timeout", "1s"});
  argv.insert(argv.end(), names.begin(), names.end());
  argv.insert(argv.end(), {"--", "sh", "-c", "echo got; read x; true"});
  Process process(argv, {.hold_stdin = true});
  process.wait_for_stdout("got");
  StandingShard::pause();
  process.close_stdin();
  const Result result = process.wait();
  CAPTURE(result.err);
  CHECK(result.status == 0);
  CHECK(result.err.starts_with("rlock: " + names[1] + ": not released"));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK(cluster().node(0).command({"EXISTS", names[0]}) == "0");
  CHECK(cluster().node(2).command({"EXISTS", names[2]}) == "0");
}
