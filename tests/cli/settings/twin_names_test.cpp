// No lock's name is a key of another lock. Redisson's format has "a" and "{a}" share all keys but
// the lock itself: each of them is kept all the same, and a run that meets the other says so.
#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/process.hpp"
#include "support/resp.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

const std::vector<Words> k_kinds{{}, {"--fair"}, {"-s"}, {"-x"}, {"--kind", "simple"}};

Words exec_argv(const Server& server, const Words& options, const Words& names,
                const Words& command) {
  return rlock_argv("exec", "-r", server.unix_url(), options, names, "--", command);
}

const Words k_until_eof{"sh", "-c", "echo ready; cat; echo done"};

}  // namespace

TEST_CASE("a name that begins as rlock's or Redisson's keys do is refused by each command") {
  Server server;
  for (const std::string name :
       {"rlock_info:{a}", "rlock_info_braced:{a}", "rlock_runs:{a}", "redisson_lock_queue:{a}",
        "redisson_lock__channel:{a}", "redisson_rwlock:{a}", "redisson_sc:{a}",
        "redisson_unlock_latch:{a}:1",
        "{a}:8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a7:1:rwlock_timeout:1"}) {
    for (const Words& command :
         {Words{"exec", "-n", name, "--", "true"}, Words{"exec", "-n", "b", name, "--", "true"},
          Words{"acquire", "--no-watchdog", name}, Words{"renew", "--owner", "o:1", name},
          Words{"unlock", "--owner", "o:1", name}, Words{"unlock", "--force", "-y", name},
          Words{"inspect-queue", name}, Words{"watch", "--for", "0", name}, Words{"doctor", name},
          Words{"evict", name, "o:1"}, Words{"fence", name, "1"}}) {
      Words argv = rlock_argv("-r", server.unix_url(), command);
      const Result result = run(argv);
      CAPTURE(name);
      CAPTURE(command[0]);
      CAPTURE(result.err);
      CHECK(result.status == 64);
      CHECK(is_one_message(result.err));
      CHECK(has(result.err, "bad lock name: '" + name + "'"));
    }
  }
  CHECK(server.keys().empty());
}

TEST_CASE("one run holds a name and its twin, says so, and leaves no key") {
  for (const Words& kind : k_kinds) {
    Server server;
    Process holder(exec_argv(server, kind, {"a", "{a}"}, k_until_eof), {.hold_stdin = true});
    holder.wait_for_stdout("ready");
    CHECK(server.command({"EXISTS", "a", "{a}"}) == "2");
    Words options{"-n"};
    options.insert(options.end(), kind.begin(), kind.end());
    if (kind == Words{"-s"}) options.back() = "-x";
    for (const std::string name : {"a", "{a}"}) {
      CHECK(run(exec_argv(server, options, {name}, {"true"})).status == 75);
    }
    holder.close_stdin();
    const Result result = holder.wait();
    CAPTURE(result.err);
    CHECK(result.status == 0);
    CHECK(result.out == "ready\ndone\n");
    CHECK(result.err.starts_with("rlock: {a}: 'a' is in use, too: "));
    CHECK(is_one_message(result.err));
    CHECK(comes_to_be_empty(server));
  }
}

TEST_CASE("two runs hold a name and its twin beside each other, whichever comes first") {
  for (const Words& kind : k_kinds) {
    for (const Words& names : {Words{"a", "{a}"}, Words{"{a}", "a"}}) {
      Server server;
      Process first(exec_argv(server, kind, {names[0]}, k_until_eof), {.hold_stdin = true});
      first.wait_for_stdout("ready");
      const Result second = run(exec_argv(server, kind, {names[1]}, {"echo", "ran"}));
      CAPTURE(names[1]);
      CHECK(second.status == 0);
      CHECK(second.out == "ran\n");
      CHECK(second.err.starts_with("rlock: " + names[1] + ": '" + names[0] + "' is in use, too: "));
      CHECK(is_one_message(second.err));
      const Result quiet = run(exec_argv(server, {"-q"}, {names[1]}, {"true"}));
      if (kind.empty()) CHECK(quiet.err == "");
      first.close_stdin();
      const Result result = first.wait();
      CHECK(result.status == 0);
      CHECK(result.err == "");
      CHECK(comes_to_be_empty(server));
    }
  }
}

TEST_CASE("waiters of a name and of its twin in one queue all get their lock, and leave no key") {
  Server server;
  const std::string queue = "redisson_lock_queue:{a}";
  std::deque<Process> holders;
  std::deque<Process> waiters;
  for (const std::string name : {"a", "{a}"}) {
    holders.emplace_back(exec_argv(server, {"-q", "--fair"}, {name}, k_until_eof),
                         ProcessOptions{.hold_stdin = true});
    holders.back().wait_for_stdout("ready");
  }
  for (const std::string name : {"a", "{a}", "a", "{a}"}) {
    waiters.emplace_back(exec_argv(server, {"-q", "--fair"}, {name}, {"echo", "ran"}));
    const auto length = std::to_string(waiters.size());
    REQUIRE(wait_until([&] { return server.command({"LLEN", queue}) == length; }));
  }
  for (Process& holder : holders) {
    holder.close_stdin();
    CHECK(holder.wait().status == 0);
  }
  for (Process& waiter : waiters) {
    const Result result = waiter.wait();
    CHECK(result.status == 0);
    CHECK(result.out == "ran\n");
  }
  // Each name's side key may remember for a minute who was called: a waiter of the twin never
  // comes.
  CHECK(wait_until([&] {
    const Words keys = server.keys();
    return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) {
      return key.starts_with("rlock_info") && server.list({"HKEYS", key}) == Words{"called"} &&
             pttl(server, key) > 0;
    });
  }));
}

TEST_CASE("a semaphore whose twin has permits out is refused, and neither loses any") {
  Server server;
  const Words permits{"-n", "--permits", "2"};
  const auto check_refused = [&](const Words& names, const std::string& refused,
                                 const std::string& twin) {
    const Result result = run(exec_argv(server, permits, names, {"echo", "ran"}));
    CHECK(result.status == 76);
    CHECK(result.out == "");
    CHECK(is_one_message(result.err));
    CHECK(has(result.err, "rlock: " + refused + ": "));
    CHECK(has(result.err, "the semaphore " + twin + ","));
  };
  check_refused({"a", "{a}"}, "{a}", "a");
  CHECK(comes_to_be_empty(server));
  for (const Words& names : {Words{"a", "{a}"}, Words{"{a}", "a"}}) {
    Process holder(exec_argv(server, permits, {names[0]}, k_until_eof), {.hold_stdin = true});
    holder.wait_for_stdout("ready");
    check_refused({names[1]}, names[1], names[0]);
    // Nor does anybody else touch the other's permits.
    const std::string before = server.command({"DUMP", "{a}:timeout"});
    for (const Words& words :
         {Words{"unlock", "--force", "-y", names[1]}, Words{"doctor", "--repair", names[1]}}) {
      Words argv = rlock_argv("-r", server.unix_url(), words);
      run(argv);
    }
    CHECK(server.command({"DUMP", "{a}:timeout"}) == before);
    CHECK(has(run(rlock_argv("inspect-queue", "-r", server.unix_url(), names[1])).out, "free"));
    CHECK(has(run(rlock_argv("inspect-queue", "-r", server.unix_url(), names[0])).out, "held"));
    holder.close_stdin();
    const Result result = holder.wait();
    CHECK(result.status == 0);
    CHECK(result.err == "");
    CHECK(comes_to_be_empty(server));
    CHECK(run(exec_argv(server, permits, {names[1]}, {"true"})).status == 0);
    CHECK(comes_to_be_empty(server));
  }
}

TEST_CASE("a name that is the key of a semaphore's permits is another kind of lock to it") {
  Server server;
  const std::string name = "{a}:timeout";
  for (const Words& kind : {Words{}, Words{"--fair"}, Words{"-s"}, Words{"-x"},
                            Words{"--kind", "simple"}, Words{"--permits", "2"}}) {
    Process holder(exec_argv(server, {"--permits", "1"}, {"a"}, k_until_eof), {.hold_stdin = true});
    holder.wait_for_stdout("ready");
    CHECK(run(exec_argv(server, kind, {name}, {"true"})).status == 76);
    holder.close_stdin();
    CHECK(holder.wait().status == 0);
    Process other(exec_argv(server, kind, {name}, k_until_eof), {.hold_stdin = true});
    other.wait_for_stdout("ready");
    CHECK(run(exec_argv(server, {"--permits", "1"}, {"a"}, {"true"})).status == 76);
    other.close_stdin();
    CHECK(other.wait().status == 0);
    CHECK(comes_to_be_empty(server));
  }
}

TEST_CASE("list finds a name and its twin, by their side keys, too") {
  Server server;
  for (const std::string name : {"a", "{a}"}) {
    CHECK(run(rlock_argv("acquire", "-q", "--no-watchdog", "-r", server.unix_url(), name)).status ==
          0);
  }
  CHECK(server.keys() == Words{"a", "rlock_info:{a}", "rlock_info_braced:{a}", "{a}"});
  const auto listed = [&] {
    return run(rlock_argv("list", "--json", "-r", server.unix_url())).out;
  };
  CHECK(has(listed(), R"("name":"a")"));
  CHECK(has(listed(), R"("name":"{a}")"));
  server.command({"PERSIST", "rlock_info_braced:{a}"});
  const Result repaired = run(rlock_argv("doctor", "--repair", "-r", server.unix_url()));
  CHECK(has(repaired.out, "rlock_info_braced:{a}"));
  CHECK(server.command({"PTTL", "rlock_info_braced:{a}"}) != "-1");
}
