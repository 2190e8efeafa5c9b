// watch --until and --for: when it ends, and with which status.
#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/fair_lock.hpp"
#include "support/foreign_owner.hpp"
#include "support/looks.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

std::vector<std::string> watch_argv(const Server& server, const std::vector<std::string>& options) {
  return rlock_argv("watch", "-r", server.unix_url(), options);
}

void hold(const Server& server, const std::string& name) {
  server.command({"HSET", name, k_foreign_owner, "1"});
}

std::ptrdiff_t lines(const Result& result) {
  return std::count(result.out.begin(), result.out.end(), '\n');
}

}  // namespace

TEST_CASE("watch --until ends at once with 0 where the locks are as wanted") {
  Server server;
  hold(server, "held");
  for (const char* json : {"--json", "-v"}) {
    Result result = run(watch_argv(server, {json, "--until", "free", "one", "two"}));
    CHECK(result.status == 0);
    CHECK(lines(result) == 2);
    CHECK(result.err.empty());
    result = run(watch_argv(server, {json, "--until", "held", "--for", "1h", "held"}));
    CHECK(result.status == 0);
    CHECK(lines(result) == 1);
  }
}

TEST_CASE("watch --until waits until all the locks are as wanted, and tells that") {
  Server server;
  hold(server, "one");
  hold(server, "two");
  Process watch(watch_argv(server, {"--until", "free", "one", "two"}));
  watch.wait_for_stdout("two is held");
  server.command({"DEL", "one"});
  watch.wait_for_stdout("one released by " + k_foreign_owner);
  CHECK(watch.running());
  server.command({"DEL", "two"});
  const Result result = watch.wait();
  CHECK(result.status == 0);
  CHECK(has(result.out, "two released by " + k_foreign_owner));
}

TEST_CASE("watch --until held ends when somebody takes the lock") {
  Server server;
  Process watch(watch_argv(server, {"--until", "held", "--for", "1h", "job"}));
  watch.wait_for_stdout("job is free");
  hold(server, "job");
  CHECK(watch.wait().status == 0);
}

TEST_CASE("watch --for ends after that time: with 0, or 124 where --until was not reached") {
  Server server;
  hold(server, "job");
  const long long start = server_time(server);
  CHECK(run(watch_argv(server, {"--for", "1.2s", "job"})).status == 0);
  CHECK(server_time(server) - start >= 1200);
  CHECK(run(watch_argv(server, {"--for", "1.2s", "--until", "free", "job"})).status == 124);
  CHECK(server_time(server) - start >= 2400);
  Result result = run(watch_argv(server, {"--for", "0", "--until", "free", "--json", "job"}));
  CHECK(result.status == 124);
  CHECK(lines(result) == 1);
  result = run(watch_argv(server, {"--for", "0", "job"}));
  CHECK(result.status == 0);
  CHECK(lines(result) == 1);
}

TEST_CASE("watch --for ends an outage, too, in which nothing is reached") {
  Server server;
  Process plain(watch_argv(server, {"--for", "4s", "job"}));
  Process until(watch_argv(server, {"--for", "4s", "--until", "held", "job"}));
  plain.wait_for_stdout("job is free");
  until.wait_for_stdout("job is free");
  SUBCASE("of a server that has ended") { server.stop(); }
  SUBCASE("of one that does not answer") { server.pause(); }
  CHECK(plain.wait().status == 0);
  CHECK(until.wait().status == 124);
  if (server.pid() != -1) server.resume();
}

TEST_CASE("watch --until goes on after an outage") {
  Server server;
  hold(server, "job");
  Process watch(watch_argv(server, {"--until", "free", "job"}));
  watch.wait_for_stdout("job is held");
  server.stop();
  watch.wait_for_stdout("job error: ");
  server.start();
  CHECK(watch.wait().status == 0);
}

TEST_CASE("watch refuses a state and a time that make no sense") {
  for (const auto& [option, value] :
       {std::pair("--until", "busy"), std::pair("--until", ""), std::pair("--for", "soon"),
        std::pair("--for", "-1"), std::pair("--for", "")}) {
    CAPTURE(option);
    CAPTURE(value);
    const Result result = run(rlock_argv("watch", option, value, "job"));
    CHECK(result.status == 64);
    CHECK(result.err.starts_with(std::string("rlock: ") + option));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  }
}

TEST_CASE("watch ends by SIGTERM although nobody reads what it writes") {
  Server server;
  // The shell holds the other end of the pipe open.
  Process watch({"sh", "-c",
                 "mkfifo \"$2/pipe\"; exec 3<>\"$2/pipe\"; "
                 "\"$0\" watch -r \"$1\" job >&3 3>&- & echo $!; wait $!; echo status=$?",
                 rlock_program(), server.unix_url(), server.directory()});
  watch.wait_for_stdout("\n");
  const pid_t pid = std::stoi(watch.out());
  REQUIRE(wait_until([&] { return looks(server) >= 1; }));
  std::vector<std::string> push = {"RPUSH", k_queue};
  for (int i = 0; i < 5000; ++i) push.push_back("waiter-" + std::to_string(i) + ":1");
  server.command(push);
  const long before = looks(server);
  CHECK(wait_until([&] { return looks(server) >= before + 3; }));
  ::kill(pid, SIGTERM);
  watch.wait_for_stdout("status=143");
}
