// Read/write locks that are renewed, lost or left behind, and requests whose reply is lost.
// Labels: long
#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "cli/kinds/read_write_fixture.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::read_write_runs;

namespace {

const std::string k_info = "rlock_info:{job}";

}  // namespace

TEST_CASE("the watchdog keeps a reader, among others and alone, and the writer") {
  Setting set;
  for (const char* side : {"-s", "-x"}) {
    auto other = side == std::string("-s") ? set.held({"-s", "--lease", "10m"}) : nullptr;
    auto one = set.held({side, "--lease", "5s"});
    if (other) check_end(*other);  // and with it, its lease of 10 minutes
    CHECK(pttl(set.server) <= 5000);
    for (int i = 0; i < 3; ++i) wait_for_renewal(set.server);
    CHECK(set.status_of("-x") == 75);
    check_end(*one);
    CHECK(set.clean());
  }
}

TEST_CASE("the watchdog soon mends what another reader's watchdog has shortened") {
  Setting set;
  auto one = set.held({"-s", "--lease", "1h"});
  set.server.command({"PEXPIRE", "job", "60000"});  // as Redisson does, which does not look
  CHECK(wait_until([&] { return pttl(set.server) > 1'800'000; }));
  check_end(*one);
}

TEST_CASE("S4: who loses the lock is ended: a reader, and the writer" * doctest::test_suite("S4")) {
  Setting set;
  auto one = set.held({"-s", "--lease", "6s"});
  auto two = set.held({"-s", "--lease", "6s"});
  set.server.command({"DEL", "job"});
  auto writer = set.held({"-x", "--lease", "6s"});
  for (Process* lost : {one.get(), two.get()}) {
    const Result result = lost->wait();
    CHECK(result.status == 79);
    CHECK(has(result.err, "rlock: job: lock lost: "));
  }
  CHECK(set.server.command({"HGET", "job", "mode"}) == "write");
  set.server.command({"DEL", "job"});
  auto reader = set.held({"-s"});
  CHECK(writer->wait().status == 79);
  check_end(*reader);
}

TEST_CASE("S7: after kill -9 its own lease keeps others out, and no one else's" *
          doctest::test_suite("S7")) {
  Setting set;
  auto dead = set.held({"-s", "--lease", "6s"});
  auto living = set.held({"-s", "--lease", "10m"});
  const std::string pid = ":" + std::to_string(dead->pid());
  dead->signal(SIGKILL);
  auto writer = set.start({"-x", "--lease", "6s"});
  REQUIRE(set.comes_to_wait());
  // Readers come and go, and prolong the lock.
  CHECK(set.attempt({"-s", "-q", "--lease", "10m"}).out == "ran\n");
  CHECK(has(set.server.command({"HKEYS", "job"}), pid));
  REQUIRE(wait_until([&] {
    const Words keys = set.server.keys();
    return std::count_if(keys.begin(), keys.end(), [&](const std::string& key) {
             return has(key, pid + ":rwlock_timeout:");
           }) == 0;
  }));
  const Result seen = set.rlock("inspect-queue", {"--json"});
  CHECK(has(seen.out, "\"code\":\"dead_reader\""));
  CHECK(writer->out().empty());
  check_end(*living);
  writer->wait_for_stdout("got");
  writer->signal(SIGKILL);
  CHECK(set.attempt({"-s"}).out == "ran\n");
  CHECK(wait_until([&] { return set.server.command({"EXISTS", "job"}) == "0"; }));
}

TEST_CASE("S6: a request whose reply is lost counts once, on either side" *
          doctest::test_suite("S6")) {
  Setting set;
  Proxy proxy(set.server.unix_path());
  const ProcessOptions nested{.env = {{"RLOCK", rlock_program()},
                                      {"RLOCK_REDIS", proxy.url()},
                                      {"C", "redis-cli -s " + set.server.unix_path()}},
                              .hold_stdin = true};
  for (const std::string side : {"-s", "-x"}) {
    CAPTURE(side);
    const std::string count =
        "$C hget job $RLOCK_OWNER" + std::string(side == "-x" ? ":write" : "");
    // Taking it, once the script is known.
    CHECK(set.attempt({side}).out == "ran\n");
    proxy.cut_after_next_request("EVALSHA");
    const Result taken = run(rlock_argv("exec", side, "job", "--", "sh", "-c", count), nested);
    CHECK(taken.out == "1\n");
    CHECK(taken.err.empty());
    CHECK(set.server.command({"EXISTS", "job", k_info}) == "0");
    // A nested hold: taking it, and giving it back.
    Process process(
        rlock_argv("exec", side, "job", "--", "sh", "-c",
                   "echo outer; read -r line; \"$RLOCK\" exec " + side + " job -- sh -c '" + count +
                       "; echo inner; read -r line'; " + count + "; echo back; read -r line"),
        nested);
    process.wait_for_stdout("outer\n");
    const std::size_t cuts = proxy.cuts();
    proxy.cut_after_next_request("EVALSHA");
    process.write_stdin("\n");
    process.wait_for_stdout("2\ninner\n");
    CHECK(proxy.cuts() == cuts + 1);
    proxy.cut_after_next_request("EVALSHA");
    process.write_stdin("\n");
    process.wait_for_stdout("1\nback\n");
    CHECK(proxy.cuts() == cuts + 2);
    proxy.cut_after_next_request("EVALSHA");
    process.write_stdin("\n");
    const Result result = process.wait();
    CHECK(result.status == 0);
    CHECK(result.err.empty());
    CHECK(proxy.cuts() == cuts + 3);
    CHECK(wait_until([&] { return set.server.command({"EXISTS", "job", k_info}) == "0"; }));
    set.server.command({"FLUSHALL"});
  }
}
