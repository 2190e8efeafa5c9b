// unlock --force: what it tells, whom it asks, what it breaks, and whom it wakes.
// Labels: rights-fair quick
#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/fair_lock.hpp"
#include "support/foreign_owner.hpp"
#include "support/process.hpp"
#include "support/pty.hpp"
#include "support/resp.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

const std::string k_rw_channel = "redisson_rwlock:{job}";
const std::string k_question = "[y/N] ";
const std::string k_a = k_foreign_client + ":1";
const std::string k_b = k_foreign_client + ":2";
const std::string k_c = k_foreign_client + ":3";
const std::string k_d = k_foreign_client + ":4";

Words force_argv(const Server& server, const Words& options = {}) {
  return rlock_argv("unlock", "--force", "-r", server.unix_url(), options, "job");
}

Result force(const Server& server, Words options = {}) {
  options.push_back("-y");
  return run(force_argv(server, options));
}

// The lock is held by a process of rlock's on "web1", with two waiters behind it.
void hold_as_web1(const Server& server) {
  server.command({"HSET", "job", "u:1", "1"});
  server.command({"PEXPIRE", "job", "600000"});
  const std::string since = std::to_string(server_time(server) - 180'500);
  server.command(
      {"HSET", k_info, "u:1",
       R"({"host":"web1","pid":4242,"user":"ann","command":"backup","since":)" + since + "}"});
  server.command({"RPUSH", k_queue, "r:1", "r:2"});
  for (const char* waiter : {"r:1", "r:2"}) {
    server.command({"ZADD", k_scores, "9999999999999", waiter});
  }
}

}  // namespace

TEST_CASE("unlock --force tells whom the lock was taken from, and since when he had it") {
  Server server;
  hold_as_web1(server);
  const Result result = force(server);
  CHECK(result.status == 0);
  CHECK(result.out.empty());
  CHECK(result.err.starts_with(
      "rlock: job: taken from web1 pid 4242 (backup), owner u:1, user ann, held for 3m"));
  CHECK(result.err.ends_with("s (" + server.unix_url() + ")\n"));
  CHECK(server.command({"EXISTS", "job"}) == "0");
}

TEST_CASE("unlock --force tells of a running rlock what it had told of itself") {
  Server server;
  Process holder(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "cat"),
                 {.hold_stdin = true});
  REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "1"; }));
  const std::string owner = server.command({"HKEYS", "job"});
  const Result result = force(server);
  CHECK(result.status == 0);
  CHECK(has(result.err, " pid " + std::to_string(holder.pid()) + " (cat), owner " + owner));
  holder.close_stdin();
  CHECK(holder.wait().status == 79);
}

TEST_CASE("unlock --force says nothing with -q, and with -v whom it woke") {
  Server server;
  hold_as_web1(server);
  SUBCASE("-q") { CHECK(force(server, {"-q"}).err.empty()); }
  SUBCASE("-v") {
    const Result result = force(server, {"-v"});
    CHECK(result.err.starts_with("rlock: job: taken "));
    CHECK(result.err.ends_with("\nrlock: job: woke its waiters, 2 waiting (" + server.unix_url() +
                               ")\n"));
  }
  SUBCASE("-v, with nobody there") {
    server.command({"FLUSHALL"});
    const Result result = force(server, {"-v"});
    CHECK(result.status == 1);
    CHECK(result.err ==
          "rlock: job: not held by anybody; nobody seems to wait (" + server.unix_url() + ")\n");
  }
  CHECK(server.command({"EXISTS", "job"}) == "0");
}

TEST_CASE(
    "unlock --force does not claim that nobody waits where the user may not ask who listens") {
  Server server;
  server.command({"ACL", "SETUSER", "blind", "on", ">p", "~*", "&*", "+@all", "-pubsub"});
  const std::string url = "redis://blind:p@127.0.0.1:" + std::to_string(server.port());
  const Result result = run(rlock_argv("unlock", "--force", "-y", "-r", url, "job"));
  CHECK(result.status == 1);
  CHECK(
      has(result.err,
          "; notified any waiters; how many is unknown: this user is not allowed to run PUBSUB ("));
}

TEST_CASE("unlock --force asks on a terminal, and breaks the lock for y, Y and yes") {
  Server server;
  hold_as_web1(server);
  std::string answer;
  SUBCASE("y") { answer = "y"; }
  SUBCASE("Y") { answer = "Y"; }
  SUBCASE("yes") { answer = "yes"; }
  Pty pty(force_argv(server));
  pty.expect("rlock: job: held by web1 pid 4242 (backup) for 3m");
  pty.expect(", expires in ");
  pty.expect(", 2 waiting (" + server.unix_url() + "). Break it? [y/N] ");
  CHECK(server.command({"EXISTS", "job"}) == "1");
  pty.type(answer + "\r");
  pty.expect("job: taken from web1 pid 4242 (backup), owner u:1");
  CHECK(pty.wait().status == 0);
  CHECK(server.command({"EXISTS", "job"}) == "0");
}

TEST_CASE("unlock --force leaves the lock as it is for any other answer") {
  Server server;
  hold_as_web1(server);
  std::string answer;
  SUBCASE("n") { answer = "n\r"; }
  SUBCASE("Enter") { answer = "\r"; }
  SUBCASE("the end of input") { answer = "\x04"; }
  SUBCASE("half an answer, and the end of input") { answer = "y\x04\x04"; }
  SUBCASE("something like a yes") { answer = "yes please\r"; }
  SUBCASE("a space before") { answer = " y\r"; }
  const std::string before = server.command({"DUMP", "job"}) + server.command({"DUMP", k_info});
  Pty pty(force_argv(server));
  pty.expect(k_question);
  pty.type(answer);
  pty.expect("\nrlock: job: left as it is\r\n");
  CHECK(pty.wait().status == 1);
  CHECK(server.command({"DUMP", "job"}) + server.command({"DUMP", k_info}) == before);
}

TEST_CASE("unlock --force: Ctrl-C at the question ends it and changes nothing") {
  Server server;
  hold_as_web1(server);
  Pty pty(force_argv(server));
  pty.expect(k_question);
  pty.type("\x03");
  CHECK(pty.wait().status == 128 + SIGINT);
  CHECK(server.command({"EXISTS", "job"}) == "1");
}

TEST_CASE("unlock --force: what was typed before the question is no answer to it") {
  Server server;
  hold_as_web1(server);
  server.pause();
  Pty pty(force_argv(server));
  pty.type("y\r");
  pty.expect("y\r\n");
  server.resume();
  pty.expect(k_question);
  pty.type("n\r");
  pty.expect("left as it is");
  CHECK(pty.wait().status == 1);
  CHECK(server.command({"EXISTS", "job"}) == "1");
}

TEST_CASE("unlock --force breaks only the lock that was shown") {
  Server server;
  hold_as_web1(server);
  Pty pty(force_argv(server));
  pty.expect(k_question);
  server.command({"DEL", "job"});
  SUBCASE("not another's") {
    server.command({"HSET", "job", "u:2", "1"});
    server.command({"HSET", k_info, "u:2", R"({"host":"web2","pid":7,"command":"cat"})"});
    pty.type("y\r");
    pty.expect("rlock: job: now held by web2 pid 7 (cat); left as it is (" + server.unix_url() +
               ")\r\n");
    CHECK(pty.wait().status == 1);
    CHECK(server.list({"HGETALL", "job"}) == Words{"u:2", "1"});
  }
  SUBCASE("which may be free by now") {
    pty.type("y\r");
    pty.expect("rlock: job: not held by anybody; woke its waiters, 2 waiting (" +
               server.unix_url() + ")\r\n");
    CHECK(pty.wait().status == 1);
  }
}

TEST_CASE("unlock --force does not ask") {
  Server server;
  hold_as_web1(server);
  Words argv = force_argv(server);
  int status = 0;
  SUBCASE("with -y") { argv = force_argv(server, {"-y"}); }
  SUBCASE("with --yes") { argv = force_argv(server, {"--yes"}); }
  SUBCASE("for a lock that is free") {
    server.command({"DEL", "job"});
    status = 1;
  }
  Pty pty(argv);
  const Result result = pty.wait();
  CHECK(result.status == status);
  CHECK_FALSE(has(result.out, k_question));
  CHECK(server.command({"EXISTS", "job"}) == "0");
}

TEST_CASE("unlock --force without a terminal to ask on breaks nothing, unless -y says so") {
  Server server;
  hold_as_web1(server);
  Words argv = force_argv(server);
  SUBCASE("stdin is a pipe") { argv.insert(argv.begin(), {"sh", "-c", "echo n | \"$@\"", "sh"}); }
  SUBCASE("stdin is no terminal") {
    argv.insert(argv.begin(), {"sh", "-c", "exec \"$@\" < /dev/null", "sh"});
  }
  SUBCASE("stderr is no terminal") {
    argv.insert(argv.begin(), {"sh", "-c", "exec \"$@\" 2> /dev/null", "sh"});
  }
  Pty pty(argv);
  const Result result = pty.wait();
  CHECK(result.status == 64);
  CHECK_FALSE(has(result.out, k_question));
  CHECK(server.command({"EXISTS", "job"}) == "1");
}

TEST_CASE("unlock --force asks also with -q, and names a few of many holders") {
  Server server;
  server.command({"HSET", "job", "mode", "read", k_a, "1", k_b, "1", k_c, "1", k_d, "1"});
  Pty pty(force_argv(server, {"-q"}), {.columns = 300});
  pty.expect("rlock: job: held by " + k_a + " and " + k_b + " and " + k_c +
             " and 1 more, without an expiry (" + server.unix_url() + "). Break it?");
  pty.type("y\r");
  CHECK(pty.wait().status == 0);
  CHECK(server.command({"EXISTS", "job"}) == "0");
}

TEST_CASE("unlock --force breaks a read/write lock and wakes its waiters") {
  Server server;
  server.command({"HSET", "job", "mode", "read", k_a, "1"});
  server.command({"SET", "{job}:" + k_a + ":rwlock_timeout:1", "1", "PX", "600000"});
  RespClient waiter = server.connect();
  waiter.call({"SUBSCRIBE", k_rw_channel});
  const Result result = force(server);
  CHECK(result.status == 0);
  CHECK(result.err == "rlock: job: taken from " + k_a + ", a reader (" + server.unix_url() + ")\n");
  CHECK(waiter.call({"PING"}) == Words{"message", k_rw_channel, "1"});
  CHECK(waiter.call({"PING"}) == Words{"message", k_rw_channel, "0"});
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("unlock --force breaks a string only with --kind simple") {
  Server server;
  server.command({"SET", "job", "token-1", "PX", "600000"});
  const std::string before = server.command({"DUMP", "job"});
  const Result refused = force(server);
  CHECK(refused.status == 76);
  CHECK(refused.err ==
        "rlock: job: the name is in use by something else (string): if it is a lock, and no "
        "semaphore that nobody holds, --kind simple breaks it\n");
  CHECK(server.command({"DUMP", "job"}) == before);
  Pty asked(force_argv(server));
  CHECK(asked.wait().status == 76);
  const Result broken = force(server, {"--kind", "simple"});
  CHECK(broken.status == 0);
  CHECK(broken.err == "rlock: job: taken from token-1 (" + server.unix_url() + ")\n");
  CHECK(comes_to_be_empty(server));
  CHECK(force(server, {"--kind", "simple"}).status == 1);
}

TEST_CASE("unlock --force leaves an application's hash alone, byte for byte") {
  Server server;
  server.command({"HSET", "job", "name", "ann", "job:state", "1"});
  const std::string before = server.command({"DUMP", "job"});
  for (const Words& options : {Words{}, Words{"-y"}, Words{"--kind", "simple"}}) {
    const Result result = force(server, options);
    CHECK(result.status == 76);
    CHECK(has(result.err, "rlock: job: the name is in use by something else (hash"));
  }
  Pty asked(force_argv(server));
  CHECK(asked.wait().status == 76);
  CHECK(server.command({"DUMP", "job"}) == before);
}

TEST_CASE("unlock --force wakes those who wait for a lock that somebody has deleted") {
  Server server;
  hold_by_other(server);
  RespClient rw = server.connect();
  rw.call({"SUBSCRIBE", k_rw_channel});
  Peer head(server, "r:1");
  head.listen();
  CHECK_FALSE(head.acquire());
  Process waiter(rlock_argv("exec", "-q", "-r", server.unix_url(), "job", "--", "echo", "got"));
  REQUIRE(comes_to_wait(server));
  REQUIRE(wait_until([&] { return script_calls(server) >= 2; }));
  server.command({"DEL", "job"});
  const Result result = force(server);
  CHECK(result.status == 1);
  CHECK(result.err ==
        "rlock: job: not held by anybody; woke its waiters, 1 waiting, 2 listening (" +
            server.unix_url() + ")\n");
  CHECK(waiter.wait().out == "got\n");
  CHECK(head.messages() >= 1);
  CHECK(rw.call({"PING"}) == Words{"message", k_rw_channel, "1"});
  CHECK(rw.call({"PING"}) == Words{"message", k_rw_channel, "0"});
}

TEST_CASE("unlock --force: what others wrote cannot touch the terminal") {
  Server server;
  server.command({"HSET", "job", "\x1b[2J:\xff\r\n", "1"});
  server.command({"HSET", k_info, "\x1b[2J:\xff\r\n",
                  R"({"host":"\u001b[31mweb","pid":1,"user":"\u0007ann","command":"\u009bx"})"});
  const Result result = force(server);
  CHECK(result.status == 0);
  CHECK(result.err ==
        "rlock: job: taken from \\x1b[31mweb pid 1 (\\xc2\\x9bx), owner \\x1b[2J:\\xff\\x0d\\n, "
        "user \\x07ann (" +
            server.unix_url() + ")\n");
  server.command({"SET", "job", "\x1b]0;x\x07"});
  CHECK(force(server, {"--kind", "simple"}).err ==
        "rlock: job: taken from \\x1b]0;x\\x07 (" + server.unix_url() + ")\n");
}

TEST_CASE("unlock --force --owner breaks the lock only if that owner still holds it") {
  struct Case {
    Words make;
    Words options;
  };
  const std::string& mine = k_foreign_owner;
  const std::vector<Case> cases = {
      {{"HSET", "job", mine, "1"}, {}},
      {{"HSET", "job", "mode", "write", mine + ":write", "2", mine, "1"}, {}},
      {{"HSET", "job", "mode", "read", mine, "2"}, {}},
      {{"SET", "job", mine}, {"--kind", "simple"}}};
  for (const Case& each : cases) {
    CAPTURE(each.make);
    Server server;
    server.command(each.make);
    server.command({"PEXPIRE", "job", "600000"});
    const std::string before = server.command({"DUMP", "job"});
    const auto force_of = [&](const std::string& owner) {
      Words options = each.options;
      options.insert(options.end(), {"--owner", owner});
      return force(server, options);
    };
    const Result other = force_of(k_thief);
    CHECK(other.status == 1);
    CHECK(other.err.starts_with("rlock: job: held by " + mine));
    CHECK(has(other.err, ", not by " + k_thief + " alone; left as it is ("));
    CHECK(server.command({"DUMP", "job"}) == before);
    const Result done = force_of(mine);
    CHECK(done.status == 0);
    CHECK(done.err.starts_with("rlock: job: taken from " + mine));
    CHECK(server.command({"EXISTS", "job"}) == "0");
    const Result again = force_of(mine);
    CHECK(again.status == 1);
    CHECK(again.err.starts_with("rlock: job: not held by anybody; "));
  }
}

TEST_CASE("unlock --force --owner takes a lock or a semaphore from no other holder") {
  Server server;
  server.command({"HSET", "job", "mode", "read", k_foreign_owner, "1", k_thief, "1"});
  server.command({"PEXPIRE", "job", "600000"});
  const Result result = force(server, {"--owner", k_foreign_owner});
  CHECK(result.status == 1);
  CHECK(has(result.err, ", not by " + k_foreign_owner + " alone; left as it is"));
  CHECK(server.command({"HLEN", "job"}) == "3");
  server.command({"DEL", "job"});
  Process first(rlock_argv("exec", "-r", server.unix_url(), "--permits", "2", "job", "--", "sh",
                           "-c", "echo \"$RLOCK_OWNER\"; cat"),
                {.hold_stdin = true});
  first.wait_for_stdout("\n");
  const std::string owner = first.out().substr(0, first.out().size() - 1);
  CHECK(force(server, {"--owner", k_foreign_owner}).status == 1);
  CHECK(first.running());
  CHECK(force(server, {"--owner", owner}).status == 0);
  CHECK(server.command({"EXISTS", "{job}:timeout"}) == "0");
}

TEST_CASE("unlock --force --owner asks of each server only what it can break") {
  Server one;
  Server other;
  for (const Server* server : {&one, &other}) {
    server->command({"HSET", "job", server == &one ? k_foreign_owner : k_thief, "1"});
    server->command({"PEXPIRE", "job", "600000"});
  }
  const Result result = run(rlock_argv("unlock", "--force", "-y", "--owner", k_foreign_owner, "-r",
                                       one.unix_url(), "-r", other.unix_url(), "job"));
  CHECK(result.status == 0);
  CHECK(one.command({"EXISTS", "job"}) == "0");
  CHECK(other.command({"EXISTS", "job"}) == "1");
}
