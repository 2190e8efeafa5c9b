// S6: a request that is sent again, however late, counts once.
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/acquire_fixture.hpp"
#include "support/foreign_owner.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/proxy.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

const std::string k_latch = "redisson_unlock_latch:";

// Has the server forget which requests it has carried out, as it does when their time is over.
void forget_requests(const Server& server) {
  for (const std::string& key : server.keys()) {
    if (key.starts_with(k_latch)) server.command({"DEL", key});
  }
}

// Returns whether a server keeps nothing but that it has carried requests out.
bool is_clean(const Server& server) {
  return wait_until([&] {
    for (const std::string& key : server.keys()) {
      if (!key.starts_with(k_latch)) return false;
    }
    return true;
  });
}

// A run below another one, which talks to the server through a proxy. Its command runs until
// go("leave"), that of the outer one until go("end").
struct Nest {
  Server server;
  Proxy proxy{server.port()};
  Shells shells{server};
  std::string options;  // of both

  // Runs both once, so that the server knows the scripts.
  explicit Nest(const std::string& kind) : options(kind + " --lease 10m") {
    const std::string once = "rlock exec " + options + " job -- sh -c 'exec \"$RLOCK\" exec " +
                             options + " job -- true'";
    REQUIRE(run(shells.argv(once), shells.options()).status == 0);
    REQUIRE(comes_to_be_empty(server));
  }

  // The inner run begins with go("begin").
  [[nodiscard]] Words argv(const std::string& timeout) const {
    const std::string inner = "echo $PPID >$DIR/pid; echo inner; . $DIR/lib.sh; await leave";
    const std::string outer = "echo outer; . $DIR/lib.sh; await begin; \"$RLOCK\" --timeout " +
                              timeout + " -r " + proxy.url() + " exec " + options +
                              " job -- sh -c \"$INNER\"; echo back; await end";
    return shells.argv("export INNER='" + inner + "'; exec \"$RLOCK\" exec " + options +
                       " job -- sh -c '" + outer + "'");
  }
  // Whether the outer run has the lock, as another one sees it.
  [[nodiscard]] bool is_locked() const {
    const std::string other = options.starts_with("-s") ? "-x" : options;
    return run(shells.argv("exec \"$RLOCK\" exec -q -n " + other + " job -- true"),
               shells.options())
               .status == 75;
  }
};

const Words k_kinds = {"", "--fair", "--permits 1", "-x", "-s"};

void check_end(const Nest& nest, Process& rlock) {
  CHECK(nest.is_locked());
  nest.shells.go("end");
  const Result result = rlock.wait();
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  CHECK(is_clean(nest.server));
}

}  // namespace

TEST_CASE("S6: a release that is sent again, after it was forgotten, leaves the outer hold" *
          doctest::test_suite("S6")) {
  for (const std::string& kind : k_kinds) {
    CAPTURE(kind);
    Nest nest(kind);
    Process rlock(nest.argv("100s"), nest.shells.options());
    nest.shells.go("begin");
    rlock.wait_for_stdout("inner");
    nest.proxy.cut_after_next_request("EVALSHA", Mode::refuse);  // not the DEL of a latch
    nest.shells.go("leave");
    REQUIRE(wait_until([&] { return nest.proxy.cuts() == 1; }));
    forget_requests(nest.server);
    nest.proxy.set_mode(Mode::pass);
    rlock.wait_for_stdout("back");
    check_end(nest, rlock);
  }
}

TEST_CASE("S6: a re-entry that is sent again, after it was forgotten, is not counted again" *
          doctest::test_suite("S6")) {
  for (const std::string& kind : k_kinds) {
    CAPTURE(kind);
    Nest nest(kind);
    Process rlock(nest.argv("100s"), nest.shells.options());
    rlock.wait_for_stdout("outer");
    nest.proxy.cut_after_next_request("EVALSHA", Mode::refuse);  // not the DEL of a latch
    nest.shells.go("begin");
    REQUIRE(wait_until([&] { return nest.proxy.cuts() == 1; }));
    forget_requests(nest.server);
    nest.proxy.set_mode(Mode::pass);
    rlock.wait_for_stdout("inner");
    nest.shells.go("leave");
    rlock.wait_for_stdout("back");
    check_end(nest, rlock);
  }
}

TEST_CASE("S6: an rlock that was stopped while it tried again sends nothing after its time" *
          doctest::test_suite("S6")) {
  Nest nest("");
  Process rlock(nest.argv("3s"), nest.shells.options());
  nest.shells.go("begin");
  rlock.wait_for_stdout("inner");
  pid_t inner = 0;
  std::ifstream(nest.server.directory() + "/pid") >> inner;
  nest.proxy.cut_after_next_request("EVALSHA", Mode::refuse);  // not the DEL of a latch
  nest.shells.go("leave");
  REQUIRE(wait_until([&] { return nest.proxy.cuts() == 1; }));
  ::kill(inner, SIGSTOP);
  REQUIRE(wait_until([&] { return stopped(inner); }));
  const auto start = std::chrono::steady_clock::now();
  wait_until([&] { return std::chrono::steady_clock::now() - start > 7500ms; });
  nest.server.command({"DEL", "rlock_info:{job}"});
  forget_requests(nest.server);
  const std::size_t sent = nest.proxy.bytes_to_server();
  nest.proxy.set_mode(Mode::pass);
  ::kill(inner, SIGCONT);
  rlock.wait_for_stdout("back");
  CHECK(nest.proxy.bytes_to_server() == sent);
  CHECK(nest.is_locked());
  nest.shells.go("end");
  const Result result = rlock.wait();
  CHECK(result.status == 0);
  CHECK(result.err.starts_with("rlock: job: not released, it ends with its lease: "));
  CHECK(is_clean(nest.server));
}

TEST_CASE("S6: unlock --force that is sent again, after it was forgotten, breaks no next lock" *
          doctest::test_suite("S6")) {
  Server server;
  Proxy proxy(server.port());
  std::function<void(const std::string&)> take;
  std::string request = "\r\nonly\r\n";
  Words argv = rlock_argv("unlock", "--force", "-y", "--timeout", "100s", "job");
  SUBCASE("a plain lock") {
    take = [&](const std::string& who) { server.command({"HSET", "job", who, "1"}); };
  }
  SUBCASE("a read/write lock") {
    take = [&](const std::string& who) {
      server.command({"HSET", "job", "mode", "write", who + ":write", "1"});
    };
  }
  SUBCASE("a string lock") {
    argv.insert(argv.end(), {"--kind", "simple"});
    take = [&](const std::string& who) { server.command({"SET", "job", who}); };
  }
  SUBCASE("a semaphore") {
    request = "redisson_sc:{job}\r\n$4\r\nonly\r\n";
    take = [&](const std::string& who) {
      server.command({"SET", "job", "0"});
      server.command({"ZADD", "{job}:timeout", "99999999999999", who});
    };
  }
  // The server knows the scripts.
  take(k_foreign_owner);
  argv.insert(argv.end(), {"-r", server.unix_url()});
  REQUIRE(run(argv).status == 0);
  server.command({"DEL", "job", "{job}:timeout"});

  take(k_foreign_owner);
  argv.back() = proxy.url();
  proxy.cut_after_next_request(request, Mode::refuse);
  Process unlock(argv);
  REQUIRE(wait_until([&] { return proxy.cuts() == 1; }));
  server.command({"DEL", "job", "{job}:timeout"});
  take(k_thief);
  const std::string lock = server.command({"DUMP", "job"});
  const std::string permits = server.command({"DUMP", "{job}:timeout"});
  forget_requests(server);
  proxy.set_mode(Mode::pass);
  const Result result = unlock.wait();
  CHECK(result.status == 1);
  CHECK(has(result.err, "; left as it is"));
  CHECK(server.command({"DUMP", "job"}) == lock);
  CHECK(server.command({"DUMP", "{job}:timeout"}) == permits);
}
