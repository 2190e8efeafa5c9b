// Strings of which nothing tells that they are locks: nobody is told to delete one, or shown what
// is in it.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/foreign_owner.hpp"
#include "support/invoke.hpp"
#include "support/process.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

const std::string k_secret = "user=ann;token=s3cret";

// Returns all that a command says, on stdout and stderr.
std::string said(const Server& server, const Words& words) {
  const Result result = run(argv_for(server, words));
  return result.out + result.err;
}

void check_hidden(const std::string& text) {
  CAPTURE(text);
  CHECK(has(text, "user=ann..."));
  CHECK_FALSE(has(text, "user=ann;"));
  CHECK_FALSE(has(text, "s3cret"));
}

}  // namespace

TEST_CASE("any string: it is a lock only if somebody says so, and its value stays secret") {
  Server server;
  server.command({"SET", "session", k_secret});
  const std::string sick = said(server, {"doctor", "session"});
  CHECK(has(sick, "no_expiry"));
  CHECK(has(sick, "a string; if it is a lock, it has no expiry"));
  CHECK_FALSE(has(sick, "simple session"));
  CHECK_FALSE(has(sick, "s3cret"));
  const std::string state = said(server, {"inspect-queue", "-v", "session"});
  check_hidden(state);
  CHECK(has(state, "session: a string; if it is a lock, it is held (simple)"));
  CHECK_FALSE(has(state, "simple session"));
  check_hidden(said(server, {"inspect-queue", "--json", "session"}));
  const std::string table = said(server, {"list", "--simple", "*"});
  check_hidden(table);
  CHECK(has(table, "  simple?  "));
  check_hidden(said(server, {"list", "--json", "--simple", "*"}));
  const std::string watched = said(server, {"watch", "--for", "0", "session"});
  check_hidden(watched);
  CHECK(has(watched, " is a string; if it is a lock, it is held by user=ann..."));
  check_hidden(said(server, {"watch", "--for", "0", "--json", "session"}));
  CHECK_FALSE(has(said(server, {"__complete", "holders", "", "session"}), "ann"));
}

TEST_CASE("any string: who wants it as a lock is not shown what is in it") {
  Server server;
  server.command({"SET", "session", k_secret, "PX", "3599000"});
  for (const char* command : {"exec", "acquire"}) {
    for (const char* wait : {"0", "100ms"}) {
      Words words{command, "--kind", "simple", "-w", wait, "session"};
      if (words[0] == "exec") words.insert(words.end(), {"--", "true"});
      const std::string refusal = said(server, words);
      check_hidden(refusal);
      CHECK(has(refusal, "not acquired: a string; if it is a lock, it is held by user=ann...\n"));
    }
  }
  server.command({"PERSIST", "session"});
  const std::string lasting =
      said(server, {"exec", "--kind", "simple", "-n", "-E", "0", "session", "--", "true"});
  check_hidden(lasting);
  CHECK(has(lasting,
            "session: a string; if it is a lock, it is held without an expiry by user=ann..."));
  CHECK(has(lasting,
            "it will not end by itself; find out what wrote it; if it is a lock, and its holder "
            "is gone: unlock --force --kind simple\n"));
  Pty waiter(argv_for(server, {"exec", "--kind", "simple", "session", "--", "true"}));
  waiter.expect("waiting ");
  waiter.expect("s for user=ann..., without an expiry");
  Pty force(argv_for(server, {"unlock", "--force", "--kind", "simple", "session"}));
  force.expect("session: a string; if it is a lock, it is held by user=ann..., without an expiry");
  force.type("y\n");
  force.expect("taken from user=ann...");
  CHECK(waiter.wait().status == 0);
  CHECK_FALSE(has(waiter.output() + force.output(), "s3cret"));
}

TEST_CASE("any string: of locks that can be known, the owner is shown whole") {
  Server server;
  const std::string uuid = k_foreign_client;
  for (const std::string& owner : {uuid, uuid + ":42"}) {
    server.command({"SET", "job", owner});
    const std::string state = said(server, {"inspect-queue", "--json", "job"});
    CHECK(has(state, "\"owner\":\"" + owner + "\""));
    CHECK(has(state, "unlock --force --kind simple job"));
    CHECK(has(said(server, {"inspect-queue", "job"}), "job: held (simple)"));
  }
  for (const std::string& owner : {uuid + ":4x", uuid + ":", uuid.substr(1), "x" + uuid}) {
    server.command({"SET", "job", owner});
    CHECK(has(said(server, {"inspect-queue", "--json", "job"}),
              "\"owner\":\"" + owner.substr(0, 8) + "...\""));
  }
  // Nor is a character cut.
  server.command({"SET", "job", "1234567ü9"});
  CHECK(has(said(server, {"inspect-queue", "--json", "job"}), R"("owner":"1234567...")"));

  // What rlock took itself has somebody who is known.
  server.command({"DEL", "job"});
  const Result taken =
      run(argv_for(server, {"acquire", "--kind", "simple", "--no-watchdog", "job"}));
  REQUIRE(taken.status == 0);
  const std::string state = said(server, {"inspect-queue", "job"});
  CHECK(has(state, "job: held (simple)"));
  CHECK(has(state, taken.out.substr(0, taken.out.find('\n'))));
}
