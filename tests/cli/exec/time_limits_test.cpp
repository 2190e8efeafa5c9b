// --at-least, --at-most and --no-watchdog.
// Labels: long rights-plain
#include <algorithm>
#include <csignal>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using Strings = std::vector<std::string>;

namespace {

Strings exec(const Server& server, const Strings& options, const std::string& script) {
  Strings argv = rlock_argv("exec", "-r", server.unix_url());
  argv.insert(argv.end(), options.begin(), options.end());
  argv.insert(argv.end(), {"job", "--", "sh", "-c", script});
  return argv;
}

// Writes the time to stdout as often as it can, and nothing to stderr: a shell whose child is
// killed before itself would say so there.
const char* const k_beat =
    "exec 2>/dev/null; while :; do read -r now rest </proc/uptime; echo $now; sleep 0.02; done";

double last_number(const std::string& text) {
  std::istringstream stream(text);
  double last = 0;
  double number = 0;
  while (stream >> number) last = std::max(last, number);
  return last;
}

}  // namespace

TEST_CASE("--at-least: the lock is kept by its TTL, and rlock does not wait for that") {
  Server server;
  const Result result = run(exec(server, {"--at-least", "1h"}, "exit 5"));
  CHECK(result.status == 5);
  CHECK(result.err.empty());
  CHECK(pttl(server) > 3'500'000);
  CHECK(pttl(server) <= 3'600'000);
  CHECK(std::stol(server.command({"PTTL", "rlock_info:{job}"})) <= 3'600'000);
  CHECK(run(exec(server, {"-n", "-q"}, "true")).status == 75);
  // It says who had it.
  CHECK(server.keys() == Strings{"job", "rlock_info:{job}"});
}

TEST_CASE("--at-least: shorter than the lease, it ends on time and by itself") {
  Server server;
  CHECK(run(exec(server, {"--lease", "1h", "--at-least", "600ms"}, "true")).status == 0);
  CHECK(pttl(server) <= 600);
  CHECK(run(exec(server, {"-w", "30s"}, "true")).status == 0);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("--at-least: a command that took longer gives the lock back at once") {
  Server server;
  CHECK(run(exec(server, {"--at-least", "50ms"}, "sleep 0.06")).status == 0);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("--at-least: also after a command that fails, is ended or killed") {
  Server server;
  const auto kept = [&] { return pttl(server) > 3'500'000; };
  SUBCASE("that cannot go on") {
    CHECK(run(exec(server, {"--at-least", "1h"}, "exit 1")).status == 1);
  }
  SUBCASE("that is killed") {
    CHECK(run(exec(server, {"--at-least", "1h"}, "kill -9 $$")).status == 137);
  }
  SUBCASE("when rlock is asked to end") {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
      Process rlock(exec(server, {"--at-least", "1h"}, "echo in; while :; do sleep 0.02; done"));
      rlock.wait_for_stdout("in");
      rlock.signal(signal);
      CHECK(rlock.wait().status == 128 + signal);
      CHECK(kept());
      server.command({"DEL", "job"});
    }
    return;
  }
  SUBCASE("of which a part is left in the background") {
    CHECK(run(exec(server, {"--at-least", "1h"}, "sleep 0.1 &")).status == 0);
  }
  CHECK(kept());
}

TEST_CASE("--at-least: longer than the lease, and equal to --at-most, which has passed") {
  Server server;
  CHECK(run(exec(server, {"--at-least", "8s", "--at-most", "8s", "--lease", "6s"},
                 "while :; do sleep 0.02; done"))
            .status == 124);
  CHECK(run(exec(server, {"--at-least", "1h", "--at-most", "0", "--lease", "6s"}, "true")).status ==
        0);
  CHECK(pttl(server) > 3'500'000);
}

TEST_CASE("--at-least: of several names all are kept") {
  Server server;
  CHECK(run(rlock_argv("exec", "-r", server.unix_url(), "--at-least", "1h", "c", "a", "b", "--",
                       "true"))
            .status == 0);
  for (const char* name : {"a", "b", "c"}) {
    CHECK(pttl(server, name) > 3'500'000);
  }
}

TEST_CASE("--at-least: a command that was never started does not use up the slot") {
  Server server;
  const auto start = [&](const std::string& command) {
    return run(rlock_argv("exec", "-r", server.unix_url(), "--at-least", "1h", "job", "--",
                          command))
        .status;
  };
  CHECK(start("/nonexistent") == 127);
  CHECK(server.keys().empty());
  CHECK(start("/") == 126);
  CHECK(server.keys().empty());
}

TEST_CASE("--at-least: of nested runs, that which asks for the latest time decides") {
  Server server;
  const std::string inner = rlock_program() + " exec -r " + server.unix_url();
  SUBCASE("the outer one") {
    CHECK(run(exec(server, {"--at-least", "1h"}, inner + " --at-least 50ms job -- true")).status ==
          0);
    CHECK(pttl(server) > 3'500'000);
  }
  SUBCASE("the inner one") {
    const Result result = run(exec(server, {}, inner + " --at-least 1h job -- true; echo in"));
    CHECK(result.out == "in\n");
    CHECK(pttl(server) > 3'500'000);
    CHECK(pttl(server) <= 3'600'000);
  }
  SUBCASE("the inner one, while the outer one needs the lock") {
    Process rlock(exec(server, {}, inner + " --at-least 50ms job -- true; echo in; read x"),
                  {.stdin_text = "", .hold_stdin = true});
    rlock.wait_for_stdout("in");
    CHECK(pttl(server) > 10'000);
    CHECK(server.command({"HVALS", "job"}) == "1");
    rlock.close_stdin();
    rlock.wait();
    CHECK(comes_to_be_empty(server));
  }
}

TEST_CASE("--at-most: a command that takes longer is ended with its family, status 124") {
  Server server;
  const std::string mark = "most-" + server.directory();
  const ProcessOptions options{.env = {{"MARK", mark}}};
  Result result;
  SUBCASE("by SIGTERM") {
    result = run(exec(server, {"--at-most", "4s"},  // time enough for the trap
                      "trap 'echo TERM; exit 3' TERM; "
                      "while :; do sleep 0.02; done"),
                 options);
    CHECK(result.out == "TERM\n");
  }
  SUBCASE("by SIGTERM also what is in a group or a session of its own") {
    result = run(
        exec(server, {"--at-most", "4s"},
             "for place in 'timeout 1000' setsid; do $place sh -c "
             "'trap \"trap : TERM; echo TERM; exit\" TERM; while :; do sleep 0.02; done' & done; "
             "trap : TERM; wait; wait"),
        options);
    CHECK(result.out == "TERM\nTERM\n");
  }
  SUBCASE("by SIGKILL when it is deaf") {
    result = run(exec(server, {"--at-most", "200ms", "--kill-after", "100ms"},
                      "trap '' TERM; setsid sleep 1000 & while :; do sleep 0.02; done"),
                 options);
  }
  SUBCASE("also when the command itself ends and its children do not") {
    result = run(exec(server, {"--at-most", "200ms", "--kill-after", "100ms"},
                      "sh -c \"trap '' TERM; while :; do sleep 0.02; done\" & "
                      "trap 'exit 0' TERM; while :; do sleep 0.02; done"),
                 options);
  }
  SUBCASE("while it is stopped") {
    result = run(exec(server, {"--at-most", "200ms", "--kill-after", "100ms"}, "kill -STOP $$"),
                 options);
  }
  CHECK(result.status == 124);
  CHECK(has(result.err, "rlock: job: the command has run for "));
  CHECK(processes_with(mark).empty());
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("--at-most: nothing is said with -q") {
  Server server;
  const Result result = run(exec(server, {"-q", "--at-most", "100ms"}, "exec sleep 1000"));
  CHECK(result.status == 124);
  CHECK(result.err.empty());
}

TEST_CASE("--at-most: a command that ends before has its own status") {
  Server server;
  const Result result = run(exec(server, {"--at-most", "60s"}, "exit 3"));
  CHECK(result.status == 3);
  CHECK(result.err.empty());
}

TEST_CASE("--at-most: the time counts from the command's start, not from the wait") {
  Server server;
  server.command({"HSET", "job", "another:1", "1"});
  server.command({"PEXPIRE", "job", "5000"});
  const Result result = run(exec(server, {"--at-most", "4500ms"}, "exit 3"));
  CHECK(result.status == 3);
}

TEST_CASE("--no-watchdog: the command ends before the lease does, and nobody renews it") {
  Server server;
  std::string script = k_beat;
  SUBCASE("by SIGTERM") {}
  SUBCASE("by SIGKILL when it is deaf") { script = "trap '' TERM; " + script; }

  Process rlock(exec(server, {"--no-watchdog", "--lease", "6s"}, script));
  rlock.wait_for_stdout("\n");
  double lease_end = 0;
  long before = 6001;
  bool grew = false;
  REQUIRE(wait_until([&] {
    const long left = pttl(server);
    if (left > 0) {
      grew = grew || left > before;
      before = left;
      lease_end = uptime() + static_cast<double>(left) / 1000 + 0.01;
    }
    return !rlock.running();
  }));
  const Result result = rlock.wait();
  CHECK(result.status == 79);
  CAPTURE(result.err);
  CHECK(result.err.starts_with("rlock: job: lock lost: "));
  CHECK_FALSE(grew);
  CHECK(last_number(result.out) < lease_end);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("--no-watchdog: a command that ends in time has its own status, and the lock is free") {
  Server server;
  const Result result = run(exec(server, {"--no-watchdog", "--lease", "60s"}, "exit 8"));
  CHECK(result.status == 8);
  CHECK(result.err.empty());
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("--wait: gives up in time, and takes the lock when it becomes free before") {
  Server server;
  server.command({"HSET", "job", "another:1", "1"});
  server.command({"PEXPIRE", "job", "600000"});
  const double start = uptime();
  const Result result = run(exec(server, {"--wait", "300ms"}, "echo ran"));
  CHECK(uptime() - start >= 0.28);
  CHECK(result.status == 75);
  CHECK(result.out.empty());
  CAPTURE(result.err);
  CHECK(result.err.starts_with("rlock: job: "));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  server.command({"PEXPIRE", "job", "300"});
  CHECK(run(exec(server, {"--wait", "60s"}, "echo ran")).out == "ran\n");
}

TEST_CASE("--at-most 0 sets no limit, as timeout(1) has it") {
  Server server;
  const Result result = run(exec(server, {"--at-most", "0"}, "sleep 0.05; exit 3"));
  CHECK(result.status == 3);
}
