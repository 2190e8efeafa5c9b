// rlock ends: whatever has become of the processes that it waits for.
// Labels: unsanitized long
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "cli/lease/family.hpp"
#include "cli/lease/guardians.hpp"
#include "cli/lease/nested.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

std::vector<std::string> nest(const Nested& nested) {
  return rlock_argv("exec", "-r", nested.server.unix_url(), "outer", "--",
                    rlock_argv("exec", "-r", nested.server.unix_url(), "--lease", "9s", "inner",
                               "--", "sh", "-c", nested.deaf()));
}

// Kills the inner rlock, when its guardian has been stopped by `stop_it`. The inner rlock stands
// still meanwhile, because it would replace the guardian.
template <typename StopIt>
pid_t kill_above_stopped_guardian(const Nested& nested, StopIt stop_it) {
  const pid_t inner = nested.inner();
  const pid_t guardian = wait_for_guardian_of(inner);
  stop(inner);
  stop_it(guardian);
  ::kill(inner, SIGKILL);
  return guardian;
}

// From now on the process gets no new descriptor.
void leave_no_descriptor(pid_t pid) {
  const rlimit limit{3, 3};
  REQUIRE(::prlimit(pid, RLIMIT_NOFILE, &limit, nullptr) == 0);
}

}  // namespace

TEST_CASE("S7: an outer run continues the stopped guardian of a killed inner run" *
          doctest::test_suite("S7")) {
  const Nested nested;
  Process rlock(nest(nested), {.cwd = nested.directory});
  kill_above_stopped_guardian(nested, stop);
  const Result result = rlock.wait();
  CHECK(result.status == 128 + SIGKILL);
  CHECK(result.err.empty());
  CHECK_FALSE(nested.command_runs());
  CHECK(nested.server.command({"EXISTS", "outer"}) == "0");
}

TEST_CASE("S7: an outer run ends what a guardian that cannot run has left" *
          doctest::test_suite("S7")) {
  const Nested nested;
  std::optional<Debugged> debugged;
  bool is_told = false;
  SUBCASE("after a while") {}
  SUBCASE("when it is told to end") { is_told = true; }
  Process rlock(nest(nested), {.cwd = nested.directory});
  kill_above_stopped_guardian(nested, [&](pid_t guardian) {
    debugged.emplace(guardian);
    if (!debugged->works()) ::kill(guardian, SIGKILL);
  });
  if (is_told) {
    const pid_t command = processes_with(nested.mark).front();
    CHECK(wait_until([&] { return !alive(nested.inner()); }));
    CHECK(alive(command));
    rlock.signal(SIGTERM);
  }
  const Result result = rlock.wait_exit();
  CHECK(result.status == 128 + SIGKILL);
  CHECK(result.err.empty());
  CHECK_FALSE(nested.command_runs());
  CHECK(nested.server.command({"EXISTS", "outer"}) == "0");
}

TEST_CASE("S3: a signal that ends the command shortens the wait for what cannot be seen" *
          doctest::test_suite("S3")) {
  const Server server;
  Process rlock(rlock_argv("exec", "-r", server.unix_url(), "--lease=6s", "job", "--", "sh", "-c",
                           "trap 'exit 3' TERM; " + until_go(server, 7)));
  rlock.wait_for_stdout("started");
  wait_for_guardian_of(rlock.pid());
  REQUIRE(wait_until([&] { return threads_of(rlock.pid()) == 2; }));  // it renews
  leave_no_descriptor(rlock.pid());
  const auto begun = std::chrono::steady_clock::now();
  rlock.signal(SIGTERM);
  const Result result = rlock.wait_exit();
  CHECK(std::chrono::steady_clock::now() - begun < 10s);  // without a signal it takes longer
  CHECK(result.status == 3);
  CAPTURE(result.err);
  CHECK(has(result.err, "it is not certain that all processes of the command have ended: "));
}

TEST_CASE("S3: rlock that can look at no process ends, and leaves the lock to its lease" *
          doctest::test_suite("S3")) {
  const Server server;
  const std::string mark = "unseen-" + server.directory();
  std::string limit = "--at-most=0";
  std::string daemon;
  int status = 7;
  bool is_told = false;
  SUBCASE("after the end of its command") {}
  SUBCASE("after the end of its command, when it is told to end") { is_told = true; }
  SUBCASE("when it ends its command") {
    limit = "--at-most=3s";
    status = 124;
    // In a group of its own: only a search finds it.
    daemon = "trap '' TERM; MARK=" + mark + " setsid sleep 1000 & ";
  }
  Process rlock(rlock_argv("exec", "-r", server.unix_url(), "--lease=6s", limit, "job", "--", "sh",
                           "-c", ": " + mark + "; " + daemon + until_go(server, 7)));
  rlock.wait_for_stdout("started");
  wait_for_guardian_of(rlock.pid());
  REQUIRE(wait_until([&] { return threads_of(rlock.pid()) == 2; }));  // it renews
  leave_no_descriptor(rlock.pid());
  if (status == 7) say_go(server);
  if (is_told) {
    REQUIRE(wait_until([&] { return processes_with(mark) == std::vector{rlock.pid()}; }));
    rlock.signal(SIGTERM);
  }
  const Result result = rlock.wait_exit();
  CHECK(result.status == status);
  CAPTURE(result.err);
  CHECK(has(result.err,
            "rlock: job: it is not certain that all processes of the command have ended: "));
  CHECK(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
  CHECK(processes_with(mark).empty());
}
