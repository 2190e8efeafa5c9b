// The queue of a fair lock: who gives up leaves it, who lives keeps his place, who is dead does
// not.
// Labels: long unsanitized rights-fair
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/contents.hpp"
#include "support/fair_lock.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

// Nothing of a waiter is left, but the notes that stop a late request, for a while.
bool no_trace(const Server& server) {
  return wait_until([&] {
    for (const std::string& key : server.keys()) {
      if (key != "job" && !key.starts_with("redisson_unlock_latch:")) return false;
    }
    return true;
  });
}

Words echo(const Server& server, const std::string& word) {
  return {"sh", "-c", "echo $2 >>$1", "sh", server.directory() + "/turns", word};
}

std::string turns(const Server& server) { return contents(server.directory() + "/turns"); }

Words through(const Proxy& proxy, const Words& options) {
  return rlock_argv("exec", "--fair", "-r", proxy.url(), options, "job", "--", "echo", "got");
}

}  // namespace

TEST_CASE("W3: whoever gives up, by time or by signal, leaves the queue to the others" *
          doctest::test_suite("W3")) {
  Server server;
  hold_by_other(server);
  Process first(fair_argv(server, {}, {"echo", "got"}));
  REQUIRE(comes_to_queue(server, 1));
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    CAPTURE(signal);
    Process waiter(fair_argv(server, {}, {"echo", "got"}));
    REQUIRE(comes_to_queue(server, 2));
    waiter.signal(signal);
    const Result result = waiter.wait();
    CHECK(result.status == 128 + signal);
    CHECK(result.out.empty());
    CHECK(result.err.empty());
    CHECK(queued_pids(server) == std::vector{first.pid()});
  }
  Process late(fair_argv(server, {"-w", "4s"}, {"echo", "got"}));
  REQUIRE(comes_to_queue(server, 2));
  Process taker(
      rlock_argv("acquire", "--no-watchdog", "--fair", "-w1s", "-r", server.unix_url(), "job"));
  for (Process* process : {&late, &taker}) CHECK(process->wait().status == 75);
  CHECK(queued_pids(server) == std::vector{first.pid()});
  CHECK(server.command({"ZCARD", k_scores}) == "1");
  CHECK(server.command({"HLEN", k_info}) == "1");
  first.signal(SIGTERM);
  CHECK(first.wait().status == 128 + SIGTERM);
  CHECK(wait_until([&] { return server.keys() == Words{"job"}; }));
}

TEST_CASE("W3: a signal that comes with the grant leaves neither lock nor place" *
          doctest::test_suite("W3")) {
  Server server;
  for (int round = 0; round < 10; ++round) {
    hold_by_other(server);
    Process waiter(fair_argv(server, {}, {"echo", "got"}));
    REQUIRE(comes_to_queue(server, 1));
    let_go(server);
    waiter.signal(SIGTERM);
    const Result result = waiter.wait();
    // Either the signal came first, or the command had started (and may have ended) before it.
    CHECK((result.status == 128 + SIGTERM || (result.status == 0 && result.out == "got\n")));
    CHECK(no_trace(server));
  }
}

TEST_CASE("W3: an error ends the wait and the place" * doctest::test_suite("W3")) {
  Server server;
  hold_by_other(server);
  Process waiter(fair_argv(server, {"-w", "20s"}, {"echo", "got"}));
  REQUIRE(comes_to_queue(server, 1));
  const std::string owner = queue(server).at(0);
  const auto look_again = [&] { server.command({"PUBLISH", k_channel + ":" + owner, "0"}); };
  int status = 0;
  SUBCASE("the lock becomes another kind of thing") {
    server.command({"SET", "job", "x"});
    look_again();
    status = 76;
  }
  SUBCASE("the user loses a right") {
    server.command({"ACL", "SETUSER", "default", "-rpush", "-zadd"});
    look_again();
    status = 77;
  }
  const Result result = waiter.wait();
  CHECK(result.status == status);
  CHECK(result.out.empty());
  CHECK(queue(server).empty());
  CHECK(server.command({"EXISTS", k_scores, k_info}) == "0");
}

TEST_CASE("W3: whoever gives up while the server does not answer leaves the queue all the same" *
          doctest::test_suite("W3")) {
  Server server;
  hold_by_other(server);
  SUBCASE("a Redisson defect: the server is paused when the time ends") {
    Process waiter(fair_argv(server, {"-w", "3s", "--timeout", "10s"}, {"echo", "got"}));
    REQUIRE(comes_to_queue(server, 1));
    server.command({"CLIENT", "PAUSE", "5000"});
    CHECK(waiter.wait().status == 75);
  }
  SUBCASE("the server is stopped for longer than rlock waits for an answer") {
    Process waiter(fair_argv(server, {"-w", "4s", "--timeout", "2s"}, {"echo", "got"}));
    REQUIRE(comes_to_queue(server, 1));
    server.pause();
    CHECK(waiter.wait().status == 69);
    server.resume();
  }
  SUBCASE("the server is stopped, and a signal comes") {
    Process waiter(fair_argv(server, {"--timeout", "2s"}, {"echo", "got"}));
    REQUIRE(comes_to_queue(server, 1));
    server.pause();
    waiter.signal(SIGTERM);
    CHECK(waiter.wait().status == 128 + SIGTERM);
    server.resume();
  }
  SUBCASE("the network is dark for a while") {
    Proxy proxy(server.port());
    Process waiter(through(proxy, {"-w", "4s", "--timeout", "2s"}));
    REQUIRE(comes_to_queue(server, 1));
    proxy.set_mode(Mode::blackhole);
    CHECK(waiter.wait().status == 69);
    proxy.set_mode(Mode::pass);
    CHECK(no_trace(server));
  }
  CHECK(no_trace(server));
}

TEST_CASE("W3: so does who would have to log in on a new connection" * doctest::test_suite("W3")) {
  Server server({.args = {"--requirepass", "secret"}});
  hold_by_other(server);
  Proxy proxy(server.port());
  Process waiter(through(proxy, {"-w", "4s", "--timeout", "2s"}),
                 {.env = {{"RLOCK_PASSWORD", "secret"}}});
  REQUIRE(comes_to_queue(server, 1));
  SUBCASE("the server is stopped") {
    server.pause();
    CHECK(waiter.wait().status == 69);
    server.resume();
  }
  SUBCASE("the network is dark for a while") {
    proxy.set_mode(Mode::blackhole);
    CHECK(waiter.wait().status == 69);
    proxy.set_mode(Mode::pass);
  }
  CHECK(no_trace(server));
}

TEST_CASE("W3: lost replies neither leave nor take a second place, and S6: no second hold" *
          doctest::test_suite("W3")) {
  Server server;
  hold_by_other(server);
  Proxy proxy(server.port());
  const std::string wait = "\r\n15000\r\n";  // only those who queue, or have queued, send it
  proxy.cut_after_next_request(wait);
  Process waiter(through(proxy, {}));
  REQUIRE(comes_to_queue(server, 1));
  REQUIRE(wait_until([&] { return proxy.cuts() == 1; }));
  SUBCASE("when the place is taken, and the lock, and when it is given back") {
    REQUIRE(wait_until([&] { return script_calls(server) >= 3; }));  // asked again
    CHECK(queued_pids(server) == std::vector{waiter.pid()});
    proxy.cut_after_next_request(wait);
    let_go(server);
    const Result result = waiter.wait();
    CHECK(result.status == 0);
    CHECK(result.out == "got\n");
    CHECK(proxy.cuts() == 2);
  }
  SUBCASE("when the place is given back") {
    proxy.cut_after_next_request(wait);
    waiter.signal(SIGTERM);
    CHECK(waiter.wait().status == 128 + SIGTERM);
    CHECK(wait_until([&] { return proxy.cuts() == 2; }));
  }
  CHECK(no_trace(server));
  server.command({"DEL", "job"});
  CHECK(no_trace(server));
}

TEST_CASE("W4: behind a holder that renews again and again, and a clock that is an hour ahead" *
          doctest::test_suite("W4")) {
  Server server;
  Process holder(fair_argv(server, {"--lease", "9s"}, {"sh", "-c", "echo held; cat"}),
                 {.hold_stdin = true});
  holder.wait_for_stdout("held");
  std::deque<Process> waiters;
  std::vector<pid_t> pids;
  for (const char* word : {"1", "2", "3"}) {
    waiters.emplace_back(fair_argv(server, {}, echo(server, word)));
    pids.push_back(waiters.back().pid());
    REQUIRE(comes_to_queue(server, waiters.size()));
  }
  // A Redisson defect: such a client drops live waiters. They come back, in their order.
  Peer peer(server, "r:1", 1h);
  CHECK_FALSE(peer.acquire());
  CHECK(queue(server).at(0) == "r:1");
  peer.leave();
  const bool are_back = comes_to_queue(server, 3);
  CAPTURE(holder.running());
  CAPTURE(turns(server));
  CAPTURE(server.command({"LRANGE", k_queue, "0", "-1"}));
  REQUIRE(are_back);
  CHECK(queued_pids(server) == pids);
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
  for (Process& waiter : waiters) CHECK(waiter.wait().status == 0);
  CHECK(turns(server) == "1\n2\n3\n");
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("W4: a client whose own clock is an hour off changes nothing" *
          doctest::test_suite("W4")) {
  if (std::system("faketime --version >/dev/null 2>&1") != 0) {
    MESSAGE("skipped: faketime is missing");
    return;
  }
  // faketime puts a library before that of AddressSanitizer, which otherwise refuses to start.
  const char* options = std::getenv("ASAN_OPTIONS");
  const std::string asan =
      std::string(options == nullptr ? "" : options) + ":verify_asan_link_order=0";
  Server server;
  hold_by_other(server);
  std::deque<Process> waiters;
  for (const char* shift : {"+0", "+1h", "-1h"}) {
    Words argv = fair_argv(server, {}, echo(server, shift));
    argv.insert(argv.begin(), {"faketime", "-f", shift});
    waiters.emplace_back(argv, ProcessOptions{.env = {{"ASAN_OPTIONS", asan}}});
    REQUIRE(comes_to_queue(server, waiters.size()));
  }
  const Words owners = queue(server);
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const long long ahead = deadline_ahead(server, owners[i]);
    // A server that is kept waiting reads its clock later than the TTL.
    CHECK(ahead <= 603'000 + 15'000 * static_cast<long long>(i + 1));
    CHECK(ahead > 500'000);
  }
  let_go(server);
  for (Process& waiter : waiters) CHECK(waiter.wait().status == 0);
  CHECK(turns(server) == "+0\n+1h\n-1h\n");
}

TEST_CASE(
    "W5: waiters that were killed at the head, in the middle and at the end cost 15 s in all" *
    doctest::test_suite("W5")) {
  Server server;
  Process holder(fair_argv(server, {}, {"sh", "-c", "echo held; cat"}), {.hold_stdin = true});
  holder.wait_for_stdout("held");
  std::deque<Process> waiters;
  for (const char* word : {"1", "2", "3", "4", "5", "6", "7", "8"}) {
    waiters.emplace_back(fair_argv(server, {}, echo(server, word)));
    REQUIRE(comes_to_queue(server, waiters.size()));
  }
  for (const std::size_t dead : {0U, 1U, 2U, 3U, 5U, 7U}) {
    waiters[dead].signal(SIGKILL);
    waiters[dead].wait_exit();
  }
  const Clock::time_point killed = Clock::now();
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
  CHECK(waiters[4].wait().status == 0);
  CHECK(waiters[6].wait().status == 0);
  // The promise is 15 s; the rest is for a machine that is busy. One by one it would be a minute.
  CHECK(Clock::now() - killed < 30s);
  CHECK(turns(server) == "5\n7\n");
  // The one at the end is found by whoever comes next.
  CHECK(run(fair_argv(server, {}, {"true"})).status == 0);
  CHECK(comes_to_be_empty(server));
}
