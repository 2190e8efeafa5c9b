// S4 and S5: what happens to the command when somebody else has taken its lock.
// Labels: watchdog
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "cli/lease/family.hpp"
#include "support/proxy.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

TEST_CASE("S4: a lock that is lost ends the command and its family at once, with status 79" *
          doctest::test_suite("S4")) {
  Server server;
  std::function<void()> take_away;
  SUBCASE("deleted by hand") {
    take_away = [&] { server.command({"DEL", "job"}); };
  }
  SUBCASE("forced") {
    take_away = [&] {
      CHECK(run(rlock_argv("unlock", "-r", server.unix_url(), "--force", "-y", "job")).status == 0);
    };
  }
  SUBCASE("all keys flushed") {
    take_away = [&] { server.command({"FLUSHALL"}); };
  }
  SUBCASE("replaced by a string") {
    take_away = [&] { server.command({"SET", "job", "x"}); };
  }
  SUBCASE("stolen") {
    take_away = [&] { steal(server); };
  }

  Family family(server, server.unix_url(), {"--lease", "6s", "--kill-after", "100ms"});
  take_away();
  const Result result = family.rlock().wait_exit();
  CHECK(family.alive().empty());
  CHECK(result.status == 79);
  CAPTURE(result.err);
  CHECK(result.err.starts_with(
      "rlock: job: lock lost: it was deleted or evicted, or somebody else has it"));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
}

TEST_CASE("S4: a server that comes back without its data means that the lock is lost" *
          doctest::test_suite("S4")) {
  Server server;
  Process rlock(rlock_argv("exec", "-r", server.unix_url(), "--lease", "6s", "--kill-after",
                           "100ms", "job", "--", "sleep", "1000"));
  REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "1"; }));
  server.stop();
  server.start();
  const Result result = rlock.wait();
  CHECK(result.status == 79);
  CAPTURE(result.err);
  CHECK(result.err.starts_with("rlock: job: lock lost: "));
}

TEST_CASE("S4: of several locks, the loss of any one counts" * doctest::test_suite("S4")) {
  Server server;
  for (const char* lost : {"a", "b"}) {
    Process rlock(rlock_argv("exec", "-r", server.unix_url(), "--lease", "6s", "--kill-after",
                             "100ms", "a", "b", "--", "sh", "-c", "echo started; exec sleep 1000"));
    rlock.wait_for_stdout("started");
    server.command({"DEL", lost});
    const Result result = rlock.wait();
    CHECK(result.status == 79);
    CAPTURE(result.err);
    CHECK(result.err.starts_with("rlock: " + std::string(lost) + ": lock lost: "));
    // The other lock is given back.
    CHECK(wait_until([&] { return server.command({"EXISTS", "a", "b"}) == "0"; }));
  }
}

TEST_CASE("S4: a stderr that takes nothing keeps neither a lost lock nor its command" *
          doctest::test_suite("S4")) {
  Server server;
  const std::string fifo = server.directory() + "/stderr";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const UniqueFd full(::open(fifo.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  while (::write(full.get(), "x", 1) == 1) {
  }
  std::vector<std::string> options{"--lease", "6s"};
  int status = 79;
  SUBCASE("lost") {}
  SUBCASE("--at-most") {
    options.insert(options.end(), {"--at-most", "3s"});
    status = 124;
  }
  Process rlock({"sh", "-c", "exec \"$@\" 2>\"$0\"", fifo, rlock_program(), "exec", "-r",
                 server.unix_url(), options[0], options[1], options.size() > 2 ? options[2] : "-q",
                 options.size() > 2 ? options[3] : "-q", "job", "--", "sh", "-c",
                 "exec 2>/dev/null; trap 'echo TERM; exit' TERM; echo started; "
                 "while :; do sleep 0.02; done"});
  rlock.wait_for_stdout("started");
  if (status == 79) server.command({"DEL", "job"});
  const Result result = rlock.wait();
  CHECK(result.status == status);
  CHECK(result.out == "started\nTERM\n");
}

TEST_CASE("S4: --on-lost says what happens to the command" * doctest::test_suite("S4")) {
  Server server;
  const std::string trap = "trap 'echo TERM; exit 0' TERM; echo started; ";
  const std::string loop = "while [ ! -e " + go_file(server) + " ]; do sleep 0.02; done; echo done";
  std::string lease = "6s";
  const auto start = [&](const std::string& action, const std::string& script) {
    auto rlock =
        std::make_unique<Process>(rlock_argv("exec", "-r", server.unix_url(), "--lease", lease,
                                             "--on-lost", action, "job", "--", "sh", "-c", script));
    rlock->wait_for_stdout("started");
    server.command({"DEL", "job"});
    return rlock;
  };

  SUBCASE("term: SIGTERM comes first") {
    lease = "15s";  // time enough for the trap before SIGKILL
    const Result result = start("term", trap + loop)->wait();
    CHECK(result.out == "started\nTERM\n");
    CHECK(result.status == 79);
  }
  SUBCASE("term: SIGKILL follows where SIGTERM is ignored") {
    const Result result = start("term", "trap '' TERM; echo started; " + loop)->wait();
    CHECK(result.out == "started\n");
    CHECK(result.status == 79);
  }
  SUBCASE("kill: SIGKILL at once") {
    const Result result = start("kill", trap + loop)->wait();
    CHECK(result.out == "started\n");
    CHECK(result.status == 79);
  }
  SUBCASE("ignore: the command ends by itself, and the loss is told") {
    const auto rlock = start("ignore", trap + loop);
    steal(server);
    rlock->wait_for_stderr("rlock: job: lock lost: ");  // when it happens
    // Longer than a lease that nobody renews.
    REQUIRE(wait_until([&, t = uptime()] { return uptime() > t + 6.2; }));
    CHECK(rlock->running());
    say_go(server);
    const Result result = rlock->wait();
    CHECK(result.out == "started\ndone\n");
    CHECK(result.status == 79);
    CAPTURE(result.err);
    CHECK(is_one_message(result.err));
    CHECK(only_the_thief_is_left(server));
  }
}

TEST_CASE("S5: whoever has the lock after us keeps it untouched" * doctest::test_suite("S5")) {
  Server server;
  SUBCASE("when a renewal notices the loss") {
    Process rlock(rlock_argv("exec", "-r", server.unix_url(), "--lease", "6s", "job", "--", "sh",
                             "-c", "echo started; exec sleep 1000"));
    rlock.wait_for_stdout("started");
    steal(server);
    CHECK(rlock.wait().status == 79);
    CHECK(only_the_thief_is_left(server));
  }
  SUBCASE("when the command ends before a renewal notices it") {
    Process rlock(rlock_argv("exec", "-r", server.unix_url(), "--lease", "60s", "job", "--", "sh",
                             "-c", until_go(server, 0)));
    rlock.wait_for_stdout("started");
    steal(server);
    say_go(server);
    const Result result = rlock.wait();
    CHECK(result.status == 79);  // it was lost while CMD ran
    CAPTURE(result.err);
    CHECK(result.err.starts_with("rlock: job: lock lost: "));
    CHECK(only_the_thief_is_left(server));
  }
  SUBCASE("when the command ends with --at-least") {
    Process rlock(rlock_argv("exec", "-r", server.unix_url(), "--lease", "60s", "--at-least", "1s",
                             "job", "--", "sh", "-c", until_go(server, 0)));
    rlock.wait_for_stdout("started");
    steal(server);
    say_go(server);
    rlock.wait();
    CHECK(only_the_thief_is_left(server));
  }
  SUBCASE("when the next owner is in the queue of a lock that rlock lost in an outage") {
    Proxy proxy(server.port());
    Process rlock(rlock_argv("exec", "-r", proxy.url(), "--lease", "6s", "--timeout", "3s", "job",
                             "--", "sh", "-c", "echo started; exec sleep 1000"));
    rlock.wait_for_stdout("started");
    proxy.set_mode(Mode::blackhole);
    CHECK(rlock.wait().status == 79);
    REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
    steal(server);
    proxy.set_mode(Mode::pass);  // what was under way arrives now
    CHECK(only_the_thief_is_left(server));
  }
}
