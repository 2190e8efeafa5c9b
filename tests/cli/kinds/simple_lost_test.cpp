// S3 to S8 for string locks: what happens when the lock is lost, or rlock is.
// Labels: long
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/proxy.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

// A command that runs until end(), under a string lock "job".
struct Job {
  Server server;
  std::string mark = "simple-" + server.directory();

  [[nodiscard]] Words argv(Words options, std::string url = "") const {
    if (url.empty()) url = server.unix_url();
    options.insert(options.begin(), {rlock_program(), "exec", "-r", url, "--kind", "simple"});
    options.insert(options.end(), {"job", "--", "sh", "-c",
                                   "echo started; while [ ! -e " + end_file() +
                                       " ]; do sleep 0.02; done; echo ended"});
    return options;
  }
  [[nodiscard]] ProcessOptions options() const { return {.env = {{"MARK", mark}}}; }
  [[nodiscard]] std::string end_file() const { return server.directory() + "/end"; }
  void end() const { std::ofstream(end_file()) << "end"; }
  [[nodiscard]] bool all_gone() const {
    return wait_until([&] { return processes_with(mark).empty(); });
  }
  void steal() const { server.command({"SET", "job", "thief", "PX", "600000"}); }
  [[nodiscard]] bool is_the_thiefs() const {
    return server.command({"GET", "job"}) == "thief" && pttl(server) > 300'000;
  }
};

void check_lost(const Result& result) {
  CAPTURE(result.err);
  CHECK(result.status == 79);
  CHECK(result.out == "started\n");
  CHECK(result.err.starts_with("rlock: job: lock lost: "));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
}

}  // namespace

TEST_CASE("S4: a string lock that is lost ends the command at once, with status 79" *
          doctest::test_suite("S4")) {
  Job job;
  std::function<void()> take_away;
  bool stolen = false;
  SUBCASE("deleted") {
    take_away = [&] { job.server.command({"DEL", "job"}); };
  }
  SUBCASE("forced") {
    take_away = [&] {
      CHECK(run(rlock_argv("unlock", "-r", job.server.unix_url(), "--force", "-y", "--kind",
                           "simple", "job"))
                .status == 0);
    };
  }
  SUBCASE("replaced by a hash") {
    take_away = [&] {
      job.server.command({"DEL", "job"});
      job.server.command({"HSET", "job", "a:1", "1"});
    };
  }
  SUBCASE("stolen") {
    take_away = [&] { job.steal(); };
    stolen = true;
  }
  Process rlock(job.argv({"--lease", "6s", "--kill-after", "100ms"}), job.options());
  rlock.wait_for_stdout("started");
  take_away();
  check_lost(rlock.wait());
  if (stolen) CHECK(job.is_the_thiefs());
  CHECK(job.all_gone());
}

TEST_CASE("S5: a string that was stolen before the command ended is not deleted" *
          doctest::test_suite("S5")) {
  Job job;
  Words options{"--lease", "60s"};
  SUBCASE("at once") {}
  SUBCASE("with --at-least") { options.insert(options.end(), {"--at-least", "1s"}); }
  Process rlock(job.argv(options), job.options());
  rlock.wait_for_stdout("started");
  job.steal();
  job.end();
  const Result result = rlock.wait();
  CHECK(result.status == 79);
  CHECK(result.err.starts_with("rlock: job: lock lost: "));
  CHECK(job.is_the_thiefs());
}

TEST_CASE("S7: a stopped rlock does not let the command work on, nor touch the next owner's key" *
          doctest::test_suite("S7")) {
  Job job;
  Process rlock(job.argv({"-q", "--lease", "6s"}), job.options());
  rlock.wait_for_stdout("started");
  rlock.signal(SIGSTOP);
  REQUIRE(wait_until([&] { return stopped(rlock.pid()); }));
  // The guardian ends the command before the server ends the lease.
  REQUIRE(wait_until([&] { return job.server.command({"EXISTS", "job"}) == "0"; }));
  CHECK(wait_until([&] { return processes_with(job.mark) == std::vector<pid_t>{rlock.pid()}; }));
  job.steal();
  rlock.signal(SIGCONT);
  const Result result = rlock.wait_exit();
  CHECK(result.status == 79);
  CHECK(has(result.err, "job: lock lost"));
  CHECK(job.is_the_thiefs());
  CHECK(job.all_gone());
}

TEST_CASE("S7: after kill -9 of rlock, the key ends by its TTL and nothing is left" *
          doctest::test_suite("S7")) {
  Job job;
  Process rlock(job.argv({"--lease", "5s"}), job.options());
  rlock.wait_for_stdout("started");
  rlock.signal(SIGKILL);
  CHECK(rlock.wait_exit().status == 128 + SIGKILL);
  CHECK(job.all_gone());
  CHECK(comes_to_be_empty(job.server));
}

TEST_CASE("S8: after Ctrl-Z, fg lets the command go on only while the string is still ours" *
          doctest::test_suite("S8")) {
  Job job;
  bool stolen = false;
  SUBCASE("it is") {}
  SUBCASE("it was stolen") { stolen = true; }
  const std::string log = job.server.directory() + "/log";
  const std::string script = job.server.directory() + "/beat.sh";
  // The shell itself only waits: in the middle of starting a program it could not be stopped.
  std::ofstream(script) << "while :; do echo beat >>" << log << "; sleep 0.02; done | cat\n";
  const auto beats = [&] {
    return std::filesystem::exists(log) ? std::filesystem::file_size(log) : 0;
  };
  Pty pty({"bash", "--norc", "-i"}, {.env = {{"PS1", "ready> "},
                                             {"TERM", "dumb"},
                                             {"RLOCK", rlock_program()},
                                             {"RLOCK_REDIS", job.server.unix_url()},
                                             {"MARK", job.mark}},
                                     .columns = 250});
  pty.expect("ready> ");
  pty.type("$RLOCK exec --kind simple job -- sh " + script + "\r");
  REQUIRE(wait_until([&] { return beats() > 0; }));
  pty.type("\x1a");
  pty.expect("Stopped");
  pty.expect("ready> ");
  if (stolen) job.steal();
  const auto before = beats();
  pty.type("fg\r");
  if (stolen) {
    pty.expect("lock lost");
    pty.expect("ready> ");
    pty.type("echo status=$?.\r");
    pty.expect("status=79.");
    CHECK(beats() == before);
    CHECK(job.is_the_thiefs());
    return;
  }
  CHECK(wait_until([&] { return beats() > before; }));
  pty.type("\x03");
  pty.expect("ready> ");
  CHECK(wait_until([&] { return job.server.command({"EXISTS", "job"}) == "0"; }));
}

TEST_CASE("S1: where replies take longer than the lease, nothing runs and nothing stays" *
          doctest::test_suite("S1")) {
  Server server;
  Proxy proxy(server.port());
  proxy.set_delay(std::chrono::milliseconds(500));
  const Result result = run(rlock_argv("exec", "-r", proxy.url(), "--kind", "simple", "--lease",
                                       "300ms", "job", "--", "echo", "ran"));
  CHECK(result.status == 69);
  CHECK(result.out.empty());
  CHECK(has(result.err, "longer than the lease"));
  CHECK(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
}

TEST_CASE("S3: an outage, and a server without memory, do a string lock no harm" *
          doctest::test_suite("S3")) {
  Job job;
  Proxy proxy(job.server.port());
  Process rlock(
      job.argv({"--lease", "9s", "--kill-after", "100ms", "--timeout", "2s"}, proxy.url()),
      job.options());
  rlock.wait_for_stdout("started");
  SUBCASE("lost replies") {
    wait_for_renewal(job.server);
    proxy.cut_after_next_request("EVALSHA");
    CHECK(wait_until([&] { return proxy.cuts() == 1; }));
    wait_for_renewal(job.server);
  }
  SUBCASE("no memory") {
    job.server.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
    job.server.command({"CONFIG", "SET", "maxmemory", "1"});
    wait_for_renewal(job.server);
    wait_for_renewal(job.server);
  }
  job.end();
  const Result result = rlock.wait();
  CAPTURE(result.err);
  CHECK(result.status == 0);
  CHECK(result.out == "started\nended\n");
  CHECK(result.err.empty());
  CHECK(job.server.command({"EXISTS", "job", "rlock_info:{job}"}) == "0");
}
