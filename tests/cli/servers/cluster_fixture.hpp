// What the tests of rlock in a cluster share.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/cluster.hpp"
#include "support/process.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

namespace rlock::test {

// The cluster of all cases; each leaves it whole.
inline Cluster& cluster() {
  static Cluster instance;
  return instance;
}

inline Words words(const Words& more) { return rlock_argv("-r", cluster().url(), more); }

inline Result invoke(const Words& more) { return run(words(more)); }

inline void check_refused(const Result& result, int status, const std::string& why) {
  CAPTURE(result.err);
  CHECK(result.status == status);
  CHECK(result.err.starts_with("rlock: "));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK(has(result.err, why));
}

inline long pttl(const std::string& name) {
  return std::stol(cluster().command(name, {"PTTL", name}));
}

// Holds a lock, or waits for it, until its input ends.
struct Holder {
  explicit Holder(const std::string& name, const Words& options = {})
      : process(
            [&] {
              Words argv = words({"exec"});
              argv.insert(argv.end(), options.begin(), options.end());
              argv.insert(argv.end(), {name, "--", "sh", "-c", "echo got; cat"});
              return argv;
            }(),
            {.hold_stdin = true}) {}

  void wait_until_held() { process.wait_for_stdout("got"); }
  void release() {
    process.close_stdin();
    const Result result = process.wait();
    CAPTURE(result.err);
    CHECK(result.status == 0);
    CHECK(result.err.empty());
  }
  Process process;
};

// Returns how many listen to the releases of a lock at its owner, in all ways.
inline int listeners(const std::string& name) {
  int count = 0;
  for (const char* way : {"NUMSUB", "SHARDNUMSUB"}) {
    const std::string channel = "redisson_lock__channel:{" + name + "}";
    Server& owner = cluster().node(cluster().owner(name));
    count += std::stoi(owner.list({"PUBSUB", way, channel}).at(1));
  }
  return count;
}

inline bool come_to_wait(const std::string& name, int count = 1) {
  return wait_until([&] { return listeners(name) == 2 * count; });
}

// Requests that got no answer are remembered until none can be under way.
inline void check_nothing_left() {
  for (const std::string& key : cluster().keys()) {
    CAPTURE(key);
    CHECK(key.starts_with("redisson_unlock_latch:"));
    CHECK(cluster().command(key, {"PTTL", key}) != "-1");
  }
}

}  // namespace rlock::test
