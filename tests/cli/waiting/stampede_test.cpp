// Where many wait for one lock, they ask one after the other when it becomes free.
#include <deque>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "cli/foreign_lock.hpp"
#include "support/looks.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

const std::string k_channel = "redisson_lock__channel:{job}";

// Connections that listen, too: with them each waiter knows from the first that it is one of many.
class Crowd {
 public:
  Crowd(const Server& server, const std::string& channel, int count) {
    for (int i = 0; i < count; ++i) {
      members_.push_back(server.connect());
      members_.back().call({"SUBSCRIBE", channel});
    }
  }

  // Returns the next message that they have heard.
  std::string heard() { return members_.front().call({"PING"}).at(2); }

 private:
  std::deque<RespClient> members_;
};

struct Case {
  std::string channel, taken;
  Words options;
  [[nodiscard]] std::string free() const { return taken == "0" ? "1" : "0"; }
};

const std::vector<Case> k_cases = {{k_channel, "2", {}},
                                   {k_channel, "2", {"--kind", "simple"}},
                                   {"redisson_sc:{job}", "0", {"--permits", "1"}}};

Words argv_of(const Server& server, const Case& each, const Words& command) {
  Words argv = rlock_argv("exec", "-r", server.unix_url());
  argv.insert(argv.end(), each.options.begin(), each.options.end());
  for (const char* word : {"job", "--"}) argv.emplace_back(word);
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

// Tells all who listen that the lock is free, and that it is taken again.
void tell_of_handover(const Server& server, const Case& each) {
  server.command({"EVAL",
                  "redis.call('publish', KEYS[1], ARGV[1]) "
                  "return redis.call('publish', KEYS[1], ARGV[2])",
                  "1", each.channel, each.free(), each.taken});
}

}  // namespace

TEST_CASE("stampede: waiters who hear that the lock is taken again do not ask") {
  for (const Case& each : k_cases) {
    CAPTURE(each.channel);
    CAPTURE(each.options.size());
    Server server;
    Process holder(argv_of(server, each, {"sh", "-c", "echo held; cat"}), {.hold_stdin = true});
    holder.wait_for_stdout("held");
    Crowd crowd(server, each.channel, 200);
    std::deque<Process> waiters;
    for (int i = 0; i < 3; ++i) waiters.emplace_back(argv_of(server, each, {"true"}));
    REQUIRE(wait_until([&] { return listeners(server, each.channel) == 203; }));
    const long before = scripts_run(server);
    for (int i = 0; i < 200; ++i) tell_of_handover(server, each);
    // Each of them asks every 5 s in any case, and sometimes before the second message has come.
    CHECK(scripts_run(server) - before < 60);
    holder.close_stdin();
    CHECK(holder.wait().status == 0);
    for (Process& waiter : waiters) CHECK(waiter.wait().status == 0);
  }
}

TEST_CASE("stampede: who hears that the lock is taken again need not ask for another 5 s") {
  Server server;
  const Case lasting{k_channel, "2", {"--lease", "10m"}};  // the holder need not renew meanwhile
  Process holder(argv_of(server, lasting, {"sh", "-c", "echo held; cat"}), {.hold_stdin = true});
  holder.wait_for_stdout("held");
  Crowd crowd(server, k_channel, 200);
  std::deque<Process> waiters;
  for (int i = 0; i < 3; ++i) waiters.emplace_back(argv_of(server, lasting, {"true"}));
  REQUIRE(wait_until([&] { return listeners(server, k_channel) == 203; }));
  REQUIRE(wait_until([&] { return scripts_run(server) == 7; }));
  // Each would ask twice. One of them may ask because it has not heard the second message in time.
  const double start = uptime();
  for (int i = 0; i < 13; ++i) {
    REQUIRE(wait_until([&] { return uptime() >= start + i; }));
    tell_of_handover(server, lasting);
  }
  CHECK(scripts_run(server) < 7 + 4);
  server.command({"DEL", "job"});  // of which nobody is told
  for (Process& waiter : waiters) CHECK(waiter.wait().status == 0);
}

TEST_CASE("stampede: a waiter who was called tells the others that the lock is taken again") {
  for (const Case& each : k_cases) {
    CAPTURE(each.channel);
    CAPTURE(each.options.size());
    Server server;
    Process holder(argv_of(server, each, {"sh", "-c", "echo held; cat"}), {.hold_stdin = true});
    holder.wait_for_stdout("held");
    const long before = scripts_run(server);
    Crowd crowd(server, each.channel, 5);
    Process waiter(argv_of(server, each, {"true"}));
    REQUIRE(wait_until([&] { return listeners(server, each.channel) == 6; }));
    REQUIRE(wait_until([&] { return scripts_run(server) == before + 2; }));
    holder.close_stdin();
    CHECK(holder.wait().status == 0);
    CHECK(waiter.wait().status == 0);
    for (const std::string& message : {each.free(), each.taken, each.free()}) {
      CHECK(crowd.heard() == message);
    }
  }
}
