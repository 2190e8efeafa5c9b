// What others see of a semaphore, and the rights that it needs.
#include <csignal>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "cli/kinds/semaphore_fixture.hpp"
#include "support/contents.hpp"
#include "support/foreign_owner.hpp"
#include "support/rights.hpp"

using namespace rlock::test;
using namespace rlock::test::permits;

TEST_CASE("semaphore: it is shown and found, with who has permits, and ended ones are mended") {
  Server server;
  server.command({"CONFIG", "SET", "appendonly", "yes"});
  Holders holders(server);
  Process& holder = holders.add("3", {"--note", "nightly"});
  const std::string state = look(server, "inspect-queue");
  CHECK(has(state, R"("state":"held","kind":"semaphore")"));
  CHECK(has(state, R"("note":"nightly")"));
  CHECK(has(state, R"("permits":{"total":3,"available":2})"));
  CHECK(has(state, R"("raw":{"hash":{},"queue":[],"zset":[],"permit_zset":[{"member":")"));
  CHECK(has(state, R"("problems":[])"));
  CHECK(has(invoke(server, {"inspect-queue", "job"}).out,
            "job: held (semaphore), 2 of 3 permits available, expires in "));
  CHECK(has(invoke(server, {"list", "--json"}).out,
            R"({"name":"job","kind":"semaphore","state":"held")"));
  CHECK(invoke(server, {"doctor", "job"}).status == 0);

  // Of a service: a permit without an end, and one that has ended.
  server.command({"SET", "java", "4"});
  server.command({"ZADD", "{java}:timeout", "922337203685477", k_foreign_permit});
  const std::string listed = invoke(server, {"list"}).out;
  CHECK(has(listed, k_foreign_permit_shown));
  CHECK(has(invoke(server, {"inspect-queue", "java"}).out,
            "java: held (semaphore), 4 of 5 permits available, without an expiry"));
  server.command({"ZADD", "{java}:timeout", "1000", k_foreign_permit});
  CHECK(has(invoke(server, {"inspect-queue", "java"}).out,
            "java: free (semaphore), 5 of 5 permits available"));
  const Result sick = invoke(server, {"doctor", "java"});
  CHECK(sick.status == 1);
  CHECK(has(sick.out, "ended_permit"));
  CHECK(has(invoke(server, {"doctor", "--repair", "java"}).out, "given back"));
  CHECK(server.command({"GET", "java"}) == "5");
  CHECK(has(invoke(server, {"doctor", "java"}).out, "unless it is a semaphore of another client"));
  server.command({"DEL", "java"});
  check_done(holder);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("semaphore: watch tells who gets a permit, gives it back, and whose has ended") {
  Server server;
  Process watch(argv_for(server, {"watch", "--json", "job"}));
  watch.wait_for_stdout(R"("event":"state")");
  Holders holders(server);
  Process& killed = holders.add("2", {"--lease", "6s", "--note", "killed"});
  watch.wait_for_stdout(R"("event":"held")");
  Process& other = holders.add("2", {"--lease", "10m", "--note", "other"});
  const auto tells = [&](const std::string& event, const std::string& note) {
    return wait_until([&] {
      watch.running();
      std::istringstream lines(watch.out());
      for (std::string line; std::getline(lines, line);) {
        if (has(line, "\"event\":\"" + event + "\"") && has(line, "\"" + note + "\"")) return true;
      }
      return false;
    });
  };
  REQUIRE(tells("held", "other"));
  killed.signal(SIGKILL);
  CHECK(tells("expired", "killed"));
  check_done(other);
  CHECK(tells("released", "other"));
}

TEST_CASE("semaphore: R3: the rights that the man page lists for semaphores are enough" *
          doctest::test_suite("R3")) {
  const std::string page = contents(std::string(RLOCK_SOURCE_DIR) + "/man/rlock.1");
  const std::string more = "+zadd +zrem +zscore +zcard +persist &redisson_sc:*";
  REQUIRE(has(page, more));
  Server server;
  REQUIRE(server.command(documented_rights().at(0)) == "OK");
  const std::string url = "redis://locker:password@127.0.0.1:" + std::to_string(server.port());
  const auto exec = [&](const Words& options) {
    return run(rlock_argv("-r", url, "exec", options, "job", "--", "true"));
  };
  CHECK(exec({"--permits", "2"}).status == 77);
  CHECK(exec({}).status == 0);
  CHECK(exec({"--kind", "simple"}).status == 0);
  Words rights{"ACL", "SETUSER", "locker"};
  std::istringstream words(more);
  for (std::string word; words >> word;) rights.push_back(word);
  REQUIRE(server.command(rights) == "OK");
  const Result result = exec({"--permits", "2"});
  CHECK(result.status == 0);
  CHECK(result.err == "");
  CHECK(run(rlock_argv("-r", url, "inspect-queue", "job")).status == 0);
  // Who may not ask whether somebody listens leaves the number, for a day.
  CHECK(available(server) == "2");
  CHECK(server.command({"PTTL", "job"}) != "-1");
  CHECK(run(rlock_argv("-r", url, "unlock", "--force", "-y", "job")).status == 1);
}

TEST_CASE("semaphore: unlock --force takes the permits of one whose number is gone") {
  Server server;
  Holders holders(server);
  Process& holder = holders.add("2");
  server.command({"DEL", "job"});
  const Result result = invoke(server, {"unlock", "--force", "-y", "job"});
  CHECK(result.status == 0);
  CHECK(has(result.err, "rlock: job: taken from "));
  CHECK(server.command({"EXISTS", k_permits}) == "0");
  CHECK(holder.wait_exit().status == 79);
}

TEST_CASE("semaphore: a waiter that sleeps on although a permit is available is noted, and woken") {
  Server server;
  RespClient java = server.connect();
  java.call({"SUBSCRIBE", k_channel});
  const auto note_of = [&](const Words& words) {
    Words all = {"doctor", "--json"};
    all.insert(all.end(), words.begin(), words.end());
    std::string line;
    std::istringstream lines(invoke(server, all).out);
    while (std::getline(lines, line)) {
      if (has(line, "sleeping_waiter")) return line;
    }
    return std::string();
  };
  const auto wake = [&](const std::string& note) {
    const std::string start = "\"hint\":\"";
    const std::size_t at = note.find(start) + start.size();
    std::string hint = note.substr(at, note.find('"', at) - at);
    if (const std::size_t n = hint.find("--permits N"); n != std::string::npos) {
      hint.replace(n, 11, "--permits 2");
    }
    const Result result =
        run({"bash", "-c", "rlock() { \"$0\" \"$@\"; }; " + hint, rlock_program()});
    CAPTURE(hint);
    CHECK(result.status == 0);
    CHECK(java.call({"PING"}).at(0) == "message");
  };
  for (const Words& words : {Words{}, Words{"job"}}) {
    const std::string note = note_of(words);
    CHECK(has(note, "no semaphore"));
    CHECK(has(note, "\"name\":\"job\""));
  }
  SUBCASE("nobody has made the semaphore") { wake(note_of({})); }
  SUBCASE("one of two permits is out") {
    Holders holders(server);
    Process& holder = holders.add("2");
    const std::string note = note_of({});
    CHECK(has(note, "a permit available"));
    CHECK(has(note, "--permits 2 job"));
    wake(note);
    Process& second = holders.add("2");
    CHECK(note_of({}).empty());
    check_done(second);
    check_done(holder);
  }
}
