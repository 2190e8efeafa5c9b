// How long an outage may last: what rlock-exec(1) says of it, at both sides.
// Labels: long
#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "cli/lease/family.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

// Two thirds, less --kill-after and --timeout, are 17.5 s; it renews every 10 s.
const Words k_terms = {"--lease", "30s", "--kill-after", "500ms", "--timeout", "2s"};
constexpr auto k_outage = 13s;

// A run whose server is to stand still for a while.
struct Run {
  Server server;
  Process rlock;

  Run() : rlock(argv()) { rlock.wait_for_stdout("started"); }

 private:
  Words argv() {
    return rlock_argv("exec", "-r", server.unix_url(), k_terms, "job", "--", "sh", "-c",
                      until_go(server, 5));
  }
};

// Waits until the lock of each has been renewed.
void wait_for_renewals(const std::deque<Run>& runs) {
  std::vector<long> before;
  for (const Run& run : runs) before.push_back(pttl(run.server));
  std::vector<bool> is_renewed(runs.size());
  REQUIRE(wait_until([&] {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const long now = pttl(runs[i].server);
      if (now > before[i]) is_renewed[i] = true;
      before[i] = now;
    }
    return std::find(is_renewed.begin(), is_renewed.end(), false) == is_renewed.end();
  }));
}

}  // namespace

TEST_CASE("S3: an outage of less than the manual's bound is survived, whenever it begins" *
          doctest::test_suite("S3")) {
  std::deque<Run> runs(5);
  wait_for_renewals(runs);
  const Clock::time_point start = Clock::now();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::this_thread::sleep_until(start + i * 2s);
    runs[i].server.pause();
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::this_thread::sleep_until(start + i * 2s + k_outage);
    runs[i].server.resume();
  }
  wait_for_renewals(runs);
  for (Run& run : runs) {
    say_go(run.server);
    const Result result = run.rlock.wait();
    CHECK(result.status == 5);
    CHECK(result.err.empty());
    CHECK(released(run.server));
  }
}

TEST_CASE("S1: an outage that is as long as the lease ends the command before, whenever it begins" *
          doctest::test_suite("S1")) {
  std::deque<Run> runs(3);
  wait_for_renewals(runs);
  const Clock::time_point start = Clock::now();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::this_thread::sleep_until(start + i * 4s);
    runs[i].server.pause();
  }
  for (Run& run : runs) {
    CHECK(run.rlock.wait_exit().status == 79);
    run.server.resume();
  }
}
