// Cluster: several names, and a node that hangs and that nobody replaces, when a command is to go
// on with the others.
#include <algorithm>
#include <string>

#include "cli/servers/cluster_fixture.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

// Neither a replica takes a shard over, nor is the whole cluster down, while node 1 stands still.
struct StandingShard {
  StandingShard() {
    for (const std::size_t i : {0U, 2U}) set_full_coverage(i, "no");
  }
  StandingShard(const StandingShard&) = delete;
  StandingShard& operator=(const StandingShard&) = delete;
  ~StandingShard() {
    resume();
    for (const std::size_t i : {0U, 2U}) set_full_coverage(i, "yes");
    CHECK(cluster().wait_until_whole());
  }
  static void pause() {
    for (const std::size_t i : {1U, 4U}) cluster().node(i).pause();
  }
  static void resume() {
    for (const std::size_t i : {1U, 4U}) cluster().node(i).resume();
  }
  static void set_full_coverage(std::size_t node, const std::string& value) {
    cluster().node(node).command({"CONFIG", "SET", "cluster-require-full-coverage", value});
  }
};

}  // namespace

TEST_CASE("cluster: several locks: who waits for a node that hangs keeps nothing on the others") {
  const std::string near = cluster().name_on(0);
  const std::string far = cluster().name_on(1);
  const StandingShard shard;
  StandingShard::pause();
  Process process(words({"exec", "--timeout", "1s", near, far, "--", "sh", "-c", "echo got"}));
  const auto is_held = [&] { return cluster().node(0).command({"EXISTS", near}) == "1"; };
  CHECK(wait_until(is_held));
  CHECK(wait_until([&] { return !is_held(); }, 25s));
  StandingShard::resume();
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

TEST_CASE(
    "cluster: list, doctor and completion tell what the other masters have, although one hangs") {
  const Words names{cluster().name_on(0), cluster().name_on(1), cluster().name_on(2)};
  for (const std::string& name : names) {
    REQUIRE(invoke({"acquire", "--no-watchdog", "--lease", "10m", name}).status == 0);
    cluster().command(name, {"PERSIST", name});
  }
  {
    const StandingShard shard;
    StandingShard::pause();
    for (const char* command : {"list", "doctor"}) {
      const Result result = invoke({"--timeout", "1s", command});
      CAPTURE(result.out);
      CHECK(result.status == 69);
      CHECK(has(result.out, names[0]));
      CHECK_FALSE(has(result.out, names[1]));
      CHECK(has(result.out, names[2]));
      CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
      CHECK(has(result.err, std::to_string(cluster().node(1).port())));
      CHECK_FALSE(has(result.out, "healthy"));
    }
    Result offered;
    CHECK(wait_until([&] {
      offered = invoke({"__complete", "names", "--", ""});
      return has(offered.out, names[0]) && has(offered.out, names[2]);
    }));
    CHECK_FALSE(has(offered.out, names[1]));
  }
  for (const std::string& name : names) {
    CHECK(invoke({"unlock", "--force", "-y", name}).status == 0);
  }
}
