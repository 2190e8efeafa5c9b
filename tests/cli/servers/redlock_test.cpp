// Redlock: a lock that several independent servers keep, on a good day, and bad input.
// Labels: long server
#include <algorithm>
#include <chrono>
#include <csignal>
#include <deque>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/foreign_owner.hpp"
#include "support/looks.hpp"
#include "support/process.hpp"
#include "support/pty.hpp"
#include "support/quorum.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

std::string first_holder(const Server& server) { return server.command({"HKEYS", "job"}); }

// Returns shell text that prints 1 for each server that has a hold of the outer run, once the inner
// one has ended. A majority is told of its end; the third may be too slow for it.
std::string look_behind_inner(const Quorum& quorum) {
  return quorum.await(2, "hvals job", "1") + quorum.ask_each("hvals job") + " | sed 's/^2$/1/'";
}

}  // namespace

TEST_CASE("Redlock: every server keeps the lock while the command runs, none afterwards") {
  Quorum quorum(3);
  Process holder(
      quorum.rlock("exec", {"job", "--", "sh", "-c", "echo in $RLOCK_OWNER; read x; true"}),
      {.stdin_text = "", .hold_stdin = true});
  holder.wait_for_stdout("in ");
  CHECK(wait_until([&] { return quorum.having("job") == 3; }));
  const std::string owner = holder.out().substr(3, holder.out().find('\n') - 3);
  for (int i = 0; i < 3; ++i) CHECK(first_holder(quorum[i]) == owner);

  const Result refused = run(quorum.rlock("exec", {"-n", "job", "--", "true"}));
  CHECK(refused.status == 75);
  CHECK(has(refused.err, "not acquired: held by "));
  CHECK(is_one_message(refused.err));

  holder.close_stdin();
  const Result result = holder.wait();
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  CHECK(quorum.become_empty());
}

TEST_CASE("Redlock: a lock with a long lease, too, is renewed every ten seconds") {
  Quorum quorum(3);
  Process holder(quorum.rlock("exec", {"--lease", "1h", "job", "--", "sh", "-c", "read x"}),
                 {.stdin_text = "", .hold_stdin = true});
  CHECK(wait_until([&] { return quorum.having("job") == 3; }));
  // The first time it may only renew sooner because a vote came late.
  for (int i = 0; i < 2; ++i) {
    quorum[0].command({"DEL", "job"});
    CHECK(wait_until([&] { return quorum[0].command({"EXISTS", "job"}) == "1"; }));
  }
}

TEST_CASE("Redlock: a waiter is woken by the release, whatever the lease") {
  Quorum quorum(3);
  Process holder(
      quorum.rlock("exec", {"--lease", "10m", "job", "--", "sh", "-c", "echo in; read x; true"}),
      {.stdin_text = "", .hold_stdin = true});
  holder.wait_for_stdout("in");
  Process waiter(quorum.rlock("exec", {"job", "--", "echo", "mine"}));
  for (int i = 0; i < 3; ++i) {
    CHECK(comes_to_wait(quorum[i]));
  }
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
  const Result result = waiter.wait();
  CHECK(result.status == 0);
  CHECK(result.out == "mine\n");
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("Redlock: a waiter keeps no vote while it waits") {
  Quorum quorum(3);
  for (int i = 0; i < 2; ++i) quorum[i].command({"HSET", "job", k_foreign_owner, "1"});
  const Process waiter(quorum.rlock("exec", {"--lease", "1h", "job", "--", "true"}));
  // It listens only after its first request, which this server has granted.
  CHECK(comes_to_wait(quorum[2]));
  CHECK(wait_until([&] { return quorum[2].command({"EXISTS", "job"}) == "0"; }));
}

TEST_CASE("Redlock: where nobody can have a majority, four attempts are made at once") {
  Quorum quorum(3);
  quorum[0].command({"HSET", "job", "one:1", "1"});
  quorum[1].command({"HSET", "job", "another:1", "1"});
  const Words argv = quorum.rlock("exec", {"--restart-delay", "0", "-n", "job", "--", "true"});
  CHECK(run(argv).status == 75);  // the server has the script from now on
  const long before = scripts_run(quorum[0]);
  CHECK(run(argv).status == 75);
  CHECK(scripts_run(quorum[0]) == before + 4);
}

TEST_CASE("Redlock: many who come at once run one after the other, and all run") {
  Quorum quorum(3);
  const std::string log = quorum[0].directory() + "/log";
  const std::string script = "flock -n " + log + ".oracle -c 'echo in >>" + log +
                             "; sleep 0.05; echo out >>" + log + "' || echo OVERLAP >>" + log;
  std::deque<Process> all;
  for (int i = 0; i < 6; ++i) {
    all.emplace_back(quorum.rlock("exec", {"job", "--", "sh", "-c", script}));
  }
  for (Process& one : all) CHECK(one.wait().status == 0);
  std::ifstream file(log);
  std::string line;
  std::string text;
  while (std::getline(file, line)) text += line + " ";
  CHECK(text == "in out in out in out in out in out in out ");
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("Redlock: acquire, renew and unlock work with a majority") {
  Quorum quorum(3);
  quorum[2].stop();
  const Result acquired = run(quorum.rlock("acquire", {"--no-watchdog", "--lease", "60s", "job"}));
  REQUIRE(acquired.status == 0);
  const std::string owner = acquired.out.substr(0, acquired.out.size() - 1);
  CHECK(run(quorum.rlock("renew", {"--owner", owner, "--lease", "10m", "job"})).status == 0);
  for (int i = 0; i < 2; ++i) CHECK(pttl(quorum[i]) > 60'000);
  CHECK(run(quorum.rlock("renew", {"--owner", k_foreign_owner, "job"})).status == 1);
  CHECK(run(quorum.rlock("unlock", {"--owner", k_foreign_owner, "job"})).status == 1);
  CHECK(quorum.having("job") == 2);
  CHECK(run(quorum.rlock("unlock", {"--owner", owner, "job"})).status == 0);
  CHECK(quorum.becomes_free_of("job"));
  CHECK(run(quorum.rlock("unlock", {"--owner", owner, "job"})).status == 1);
}

TEST_CASE("Redlock: unlock --force breaks the lock on every server, and the command is ended") {
  Quorum quorum(3);
  Process holder(
      quorum.rlock("exec", {"--lease", "9s", "job", "--", "sh", "-c", "echo in; exec sleep 60"}));
  holder.wait_for_stdout("in");
  CHECK(wait_until([&] { return quorum.having("job") == 3; }));
  const Result broken = run(quorum.rlock("unlock", {"--force", "-y", "job"}));
  CHECK(broken.status == 0);
  CHECK(has(broken.err, "taken from"));
  const Result result = holder.wait();
  CHECK(result.status == 79);
  CHECK(has(result.err, "lock lost"));
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("Redlock: a lock that was broken is taken nowhere again by who has lost it") {
  Quorum quorum(3);
  Process holder(quorum.rlock("exec", {"--lease", "9s", "--on-lost", "ignore", "job", "--", "sh",
                                       "-c", "echo in; read x"}),
                 {.hold_stdin = true});
  holder.wait_for_stdout("in");
  CHECK(wait_until([&] { return quorum.having("job") == 3; }));
  CHECK(run(quorum.rlock("unlock", {"--force", "-y", "job"})).status == 0);
  holder.wait_for_stderr("lock lost");
  CHECK(quorum.having("job") == 0);
}

TEST_CASE(
    "Redlock: unlock --force breaks the lock also for one who takes time over each question") {
  Quorum quorum(3);
  Process holder(
      quorum.rlock("exec", {"--lease", "9s", "job", "--", "sh", "-c", "echo in; exec sleep 60"}));
  holder.wait_for_stdout("in");
  CHECK(wait_until([&] { return quorum.having("job") == 3; }));
  Pty pty(quorum.rlock("unlock", {"--force", "job"}));
  for (int question = 0; question < 3; ++question) {
    pty.expect("Break it? [y/N] ");
    // Meanwhile the holder renews it.
    const std::size_t before = quorum.proxy(2).requests();
    CHECK(wait_until([&] { return quorum.proxy(2).requests() >= before + 2; }));
    pty.type("y\r");
  }
  CHECK(pty.wait().status == 0);
  CHECK(holder.wait().status == 79);
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("Redlock: a nested run re-enters on every server") {
  Quorum quorum(3);
  const std::string inner = quoted(quorum.rlock("exec", {"-n", "job", "--", "sh", "-c"}));
  const std::string within = quorum.await(3, "hvals job", "2") + "echo 2";
  const std::string behind = look_behind_inner(quorum);
  const Result result =
      run(quorum.rlock("exec", {"job", "--", "sh", "-c", inner + "'" + within + "'; " + behind}));
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  CHECK(result.out == "2\n1\n1\n1\n");
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("Redlock: a nested run leaves the outer one what servers have forgotten and got again") {
  Quorum quorum(3);
  const std::string inner =
      quoted(quorum.rlock("exec", {"--lease", "9s", "job", "--", "sh", "-c"}));
  const std::string look = look_behind_inner(quorum);
  Process outer(quorum.rlock("exec", {"--lease", "9s", "job", "--", "sh", "-c",
                                      inner + "'echo in; read x'; " + look}),
                {.stdin_text = "", .hold_stdin = true});
  outer.wait_for_stdout("in");
  for (int i = 0; i < 2; ++i) {
    quorum[i].command({"FLUSHALL"});
    CHECK(wait_until([&, i] { return quorum[i].command({"HVALS", "job"}) == "2"; }));
  }
  outer.close_stdin();
  const Result result = outer.wait();
  CHECK(result.status == 0);
  CHECK(result.out == "in\n1\n1\n1\n");
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("Redlock: string locks are kept by several servers, too") {
  Quorum quorum(3);
  const std::string look = quorum.await(3, "get job", "$RLOCK_OWNER") + "echo same";
  const Result result =
      run(quorum.rlock("exec", {"--kind", "simple", "job", "--", "sh", "-c", look}));
  CHECK(result.status == 0);
  CHECK(result.out == "same\n");
  CHECK(quorum.becomes_free_of("job"));
  quorum[0].command({"SET", "job", "somebody"});
  quorum[1].command({"SET", "job", "somebody"});
  CHECK(run(quorum.rlock("exec", {"-n", "--kind", "simple", "job", "--", "true"})).status == 75);
  CHECK(quorum.having("job") == 2);
}

TEST_CASE("Redlock: inspect-queue looks at one server after the other") {
  Quorum quorum(3);
  quorum[1].command({"HSET", "job", k_foreign_owner, "1"});
  quorum[2].stop();
  const Result result = run(quorum.rlock("inspect-queue", {"--json", "job"}));
  CHECK(result.status == 69);
  CHECK(has(result.out, quorum.proxy(0).url() + "\""));
  CHECK(has(result.out, k_foreign_owner));
  CHECK(std::count(result.out.begin(), result.out.end(), '\n') == 2);
  CHECK(is_one_message(result.err));
}

TEST_CASE("Redlock: bad servers are refused in one line, before anything is sent") {
  Quorum quorum(1);
  const std::string url = quorum[0].tcp_url();
  const auto refusal = [&](const Words& urls, const Words& options) {
    Words argv = rlock_argv("exec");
    for (const std::string& one : urls) argv.insert(argv.end(), {"-r", one});
    argv.insert(argv.end(), options.begin(), options.end());
    argv.insert(argv.end(), {"job", "--", "true"});
    const Result result = run(argv);
    CHECK(result.status == 64);
    CHECK(is_one_message(result.err));
    CHECK(quorum[0].keys().empty());
    return result.err;
  };
  const std::string b = "redis://127.0.0.2";
  const std::string c = "redis://127.0.0.3";
  CHECK(has(refusal({url, b, url}, {}), "two votes"));
  CHECK(has(refusal({url, b, url + "/1"}, {}), "two votes"));
  CHECK(has(refusal({url, b, "redis-sentinel://h#m"}, {}), "cannot be one of several servers"));
  CHECK(has(refusal({url, b, "redis-cluster://h"}, {}), "cannot be one of several servers"));
  CHECK(has(refusal({url, b, "local:"}, {}), "cannot be one of several servers"));
  CHECK(has(refusal({url, b, c}, {"--fair"}), "cannot keep a fair lock"));
}

TEST_CASE("Redlock: one server under two names is found out, and nothing is left") {
  Quorum quorum(1);
  const Result result = run(rlock_argv("exec", "-q", "-r", quorum[0].tcp_url(), "-r",
                                       quorum[0].unix_url(), "job", "--", "true"));
  CHECK(result.status == 64);
  CHECK(has(result.err, "one and the same"));
  CHECK(is_one_message(result.err));
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("Redlock: an even number of servers is warned of, unless -q") {
  Quorum two(2);
  Result result = run(two.rlock("exec", {"job", "--", "true"}));
  CHECK(result.status == 0);
  CHECK(has(result.err, "with 2 servers, no server may fail: "));
  CHECK(is_one_message(result.err));
  CHECK(run(two.rlock("exec", {"-q", "job", "--", "true"})).err.empty());
  Quorum four(4);
  result = run(four.rlock("exec", {"job", "--", "true"}));
  CHECK(has(result.err, "with 4 servers, only 1 may fail, as with 3: "));
}

TEST_CASE("Redlock: a server that has just started and may have forgotten a lock has no vote") {
  Quorum quorum(3, Memory::lost);
  const Result result = run(quorum.rlock("exec", {"--restart-delay", "1h", "job", "--", "true"}));
  CHECK(result.status == 69);
  CHECK(has(result.err, "may have forgotten a lock"));
  CHECK(is_one_message(result.err));
  CHECK(quorum.becomes_free_of("job"));
  CHECK(run(quorum.rlock("exec", {"--restart-delay", "0", "job", "--", "true"})).status == 0);
  // It writes every change to the disk before it answers: it forgets nothing.
  for (int i = 0; i < 2; ++i) {
    quorum[i].command({"CONFIG", "SET", "appendonly", "yes"});
    quorum[i].command({"CONFIG", "SET", "appendfsync", "always"});
  }
  const Words patient = quorum.rlock("exec", {"--restart-delay", "1h", "job", "--", "true"});
  CHECK(run(patient).status == 0);
  CHECK(quorum.becomes_free_of("job"));
  // With any of these settings changed, it may forget, be it only while it saves.
  for (const std::string name : {"appendonly", "appendfsync", "no-appendfsync-on-rewrite"}) {
    CAPTURE(name);
    const std::string before = quorum[0].list({"CONFIG", "GET", name}).back();
    const std::string other = before == "always" ? "everysec" : before == "yes" ? "no" : "yes";
    quorum[0].command({"CONFIG", "SET", name, other});
    const Result refused = run(patient);
    CHECK(refused.status == 69);
    CHECK(has(refused.err, "may have forgotten a lock"));
    quorum[0].command({"CONFIG", "SET", name, before});
  }
  CHECK(run(patient).status == 0);
}

TEST_CASE("Redlock: a server has no vote for as long as --at-least keeps locks") {
  // The command that took such a lock has ended: nobody gives it to a server again that lost it.
  Quorum quorum(3, Memory::lost);
  const Words first = {"-n", "--at-least", "1h", "--restart-delay", "0", "job", "--", "true"};
  REQUIRE(run(quorum.rlock("exec", first)).status == 0);
  CHECK(wait_until([&] { return quorum.having("job") == 3; }));
  for (int i = 0; i < 2; ++i) {
    quorum[i].stop();
    quorum[i].start();
  }
  const Result second =
      run(quorum.rlock("exec", {"-n", "--at-least", "1h", "job", "--", "echo", "again"}));
  CHECK(second.status == 69);
  CHECK(second.out.empty());
  CHECK(has(second.err, "may have started within the last 1h"));
  CHECK(is_one_message(second.err));
}

TEST_CASE("Redlock: who is granted a bare majority has the rest as soon as it is free") {
  Quorum quorum(3);
  // Of somebody whose attempt fails at the same moment.
  quorum[2].command({"HSET", "job", k_foreign_owner, "1"});
  quorum[2].command({"PEXPIRE", "job", "1000"});
  SUBCASE("exec") {
    // The usual renewal comes after 10 s.
    const std::string mine = "until redis-cli -s " + quorum[2].unix_path() +
                             " HKEYS job | grep -q $RLOCK_OWNER; do sleep 0.02; done";
    CHECK(run(quorum.rlock("exec",
                           {"--lease", "1m", "--at-most", "8s", "job", "--", "sh", "-c", mine}))
              .status == 0);
  }
  SUBCASE("acquire") {
    const Result owner =
        run(quorum.rlock("acquire", {"--lease", "1m", "--pid", std::to_string(::getpid()), "job"}));
    REQUIRE(owner.status == 0);
    CHECK(wait_until([&] { return first_holder(quorum[2]) + "\n" == owner.out; }, 8s));
    CHECK(run(quorum.rlock("unlock", {"--owner", first_holder(quorum[0]), "job"})).status == 0);
  }
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("Redlock: a vote that came only with a renewal is given back like any other") {
  Quorum quorum(3);
  quorum[2].command({"HSET", "job", k_foreign_owner, "1"});
  Words argv = quorum.rlock("exec", {"--lease", "1m", "job", "--", "sh", "-c"});
  argv.push_back(quoted(argv) + "'echo in; read x'");
  Process outer(argv, {.hold_stdin = true});
  outer.wait_for_stdout("in");
  quorum[2].command({"DEL", "job"});
  // One of the two is given the lock there. The other finds it there, at its next renewal.
  CHECK(wait_until([&] { return quorum[2].command({"HVALS", "job"}) == "2"; }));
  outer.close_stdin();
  CHECK(outer.wait().status == 1);  // of read
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("Redlock: an owner that is held elsewhere keeps its majority from another") {
  // K4: the holder has a bare majority; one of its servers forgets everything and comes back.
  Quorum quorum(3, Memory::lost);
  quorum[0].stop();
  for (int i = 1; i < 3; ++i) {
    quorum[i].command({"HSET", "job", k_foreign_owner, "1"});
    quorum[i].command({"PEXPIRE", "job", "600000"});
  }
  quorum[0].start();
  quorum[1].stop();
  quorum[1].start();
  const Result result =
      run(quorum.rlock("exec", {"-n", "--restart-delay", "1h", "job", "--", "true"}));
  CHECK(result.status != 0);
  CHECK(quorum[0].command({"EXISTS", "job"}) == "0");
  CHECK(first_holder(quorum[2]) == k_foreign_owner);
}
