// Hashes of an application whose fields look like owners and hold counts: nobody is told to delete
// one, and nothing deletes one that is not named with a second word.
#include <csignal>
#include <string>

#include <doctest/doctest.h>

#include "cli/inspection/remedies_fixture.hpp"
#include "support/foreign_owner.hpp"
#include "support/invoke.hpp"
#include "support/process.hpp"
#include "support/pty.hpp"
#include "support/quorum.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

const std::string k_if = "a hash; if it is a lock, it is held";

// Returns all that a command says, on stdout and stderr.
std::string said(const Server& server, const Words& words) {
  const Result result = run(argv_for(server, words));
  return result.out + result.err;
}

// Whether a text offers the command that breaks a lock, ready to be pasted.
bool offers_to_break(const std::string& text) { return has(text, "--force page:hits"); }

}  // namespace

TEST_CASE("any hash: it is a lock only if somebody says so") {
  Server server;
  SUBCASE("plain") { server.command({"HSET", "page:hits", "2026:11", "4711"}); }
  SUBCASE("one of its fields is an owner") {
    server.command({"HSET", "page:hits", k_foreign_owner, "1", "2026:11", "4711"});
  }
  SUBCASE("with a mode") {
    server.command({"HSET", "page:hits", "mode", "read", "2026:11", "4711"});
  }
  // With a queue beside it, list finds it, too.
  server.command({"RPUSH", "redisson_lock_queue:{page:hits}", k_foreign_owner});
  for (const Words& words :
       {Words{"doctor"}, Words{"doctor", "page:hits"}, Words{"inspect-queue", "page:hits"},
        Words{"watch", "--for", "0", "page:hits"}, Words{"list"}, Words{"list", "--json"},
        Words{"inspect-queue", "--json", "page:hits"}}) {
    CAPTURE(words);
    const std::string text = said(server, words);
    CAPTURE(text);
    CHECK(has(text, "page:hits"));
    CHECK_FALSE(offers_to_break(text));
    if (words[0] == "doctor") {
      CHECK(has(text, "a hash; if it is a lock, it has no expiry"));
      CHECK(has(text,
                "find out what wrote it; if it is a lock, and its holder is gone: "
                "unlock --force --kind hash"));
    }
    if (words.back() == "page:hits" && words[0] != "doctor" && words[1] != "--json") {
      CHECK(has(text, k_if));
    }
    if (words == Words{"list"}) CHECK(has(text, "? "));
    if (words[1 % words.size()] == "--json") CHECK(has(text, "\"certain\":false"));
  }
  Pty screen(argv_for(server, {"watch", "page:hits"}), {.columns = 200});
  screen.expect(k_if);
  screen.type("q");
  screen.wait();
  CHECK_FALSE(offers_to_break(screen.output()));
}

TEST_CASE("any hash: who wants it as a lock is not told to break it") {
  Server server;
  server.command({"HSET", "page:hits", "2026:11", "4711"});
  for (const char* kind : {"reentrant", "fair"}) {
    for (const char* conflict : {"0", "75"}) {
      const std::string refusal =
          said(server, {"exec", "--kind", kind, "-n", "-E", conflict, "page:hits", "--", "true"});
      CAPTURE(refusal);
      CHECK(has(refusal, k_if + " without an expiry by 2026:11"));
      CHECK(has(refusal, "find out what wrote it"));
      CHECK_FALSE(offers_to_break(refusal));
    }
  }
  server.command({"PEXPIRE", "page:hits", "3599000"});
  CHECK(has(said(server, {"acquire", "-n", "page:hits"}),
            "not acquired: a hash; if it is a lock, it is held by 2026:11\n"));
}

TEST_CASE("any hash: unlock --force breaks it only with --kind hash") {
  Server server;
  server.command({"HSET", "page:hits", "2026:11", "4711"});
  const std::string before = server.command({"DUMP", "page:hits"});
  for (const Words& words :
       {Words{"-y"}, Words{"-y", "--kind", "simple"}, Words{"-y", "-q"}, Words{"-y", "-v"}}) {
    Words all{"unlock", "--force", "page:hits"};
    all.insert(all.end(), words.begin(), words.end());
    const Result refused = run(argv_for(server, all));
    CHECK(refused.status == 76);
    CHECK(server.command({"DUMP", "page:hits"}) == before);
  }
  const Result refused = run(argv_for(server, {"unlock", "--force", "-y", "page:hits"}));
  CHECK(
      refused.err ==
      "rlock: page:hits: a hash that might not be a lock: its owners are not UUID:NUMBER: if it is "
      "a lock, unlock --force --kind hash breaks it\n");
  Pty asked(argv_for(server, {"unlock", "--force", "page:hits"}));
  CHECK(asked.wait().status == 76);
  CHECK(server.command({"DUMP", "page:hits"}) == before);

  Pty force(argv_for(server, {"unlock", "--force", "--kind", "hash", "page:hits"}),
            {.columns = 200});
  force.expect("page:hits: a hash; if it is a lock, it is held by 2026:11, without an expiry");
  force.type("y\n");
  force.expect("taken from 2026:11");
  CHECK(force.wait().status == 0);
  CHECK(server.command({"EXISTS", "page:hits"}) == "0");
}

TEST_CASE("any hash: locks of Redisson are broken without a second word") {
  Server server;
  for (const std::string& owner :
       {k_foreign_owner, k_foreign_client + ":-42", k_foreign_owner + ":0a1b2c",
        k_foreign_owner + ":" + k_foreign_client}) {
    CAPTURE(owner);
    server.command({"HSET", "job", owner, "1"});
    CHECK(has(said(server, {"inspect-queue", "job"}), "job: held (reentrant)"));
    CHECK(run(argv_for(server, {"unlock", "--force", "-y", "job"})).status == 0);
    CHECK(server.command({"EXISTS", "job"}) == "0");
  }
  server.command({"HSET", "job", "mode", "write", k_foreign_owner + ":write", "1"});
  CHECK(run(argv_for(server, {"unlock", "--force", "-y", "job"})).status == 0);
  // --kind hash also breaks what is a lock without doubt, but no string.
  server.command({"HSET", "job", k_foreign_owner, "1"});
  CHECK(run(argv_for(server, {"unlock", "--force", "-y", "--kind", "hash", "job"})).status == 0);
  server.command({"SET", "job", k_foreign_owner});
  CHECK(run(argv_for(server, {"unlock", "--force", "-y", "--kind", "hash", "job"})).status == 76);
}

TEST_CASE("any hash: watch says of each event that it may be no lock") {
  Server server;
  Process watch(argv_for(server, {"watch", "page:hits"}));
  Process json(argv_for(server, {"watch", "--json", "page:hits"}));
  watch.wait_for_stdout("is free");
  json.wait_for_stdout(R"("state":"free")");
  server.command({"HSET", "page:hits", "2026:11", "4711"});
  watch.wait_for_stdout(k_if + " by 2026:11, without an expiry");
  json.wait_for_stdout(R"("event":"held","owner":"2026:11")");
  json.wait_for_stdout(R"("certain":false)");
  watch.signal(SIGTERM);
  json.signal(SIGTERM);
  CHECK_FALSE(has(watch.wait().out, "hits held"));
  CHECK(has(json.wait().out, R"("certain":true)"));  // when it was free
}

TEST_CASE("any hash: each advised command works, beside the field of an application") {
  Server server;
  Process holder(argv_for(server, {"exec", "--lease", "10m", "page:hits", "--", "sh", "-c",
                                   "echo held; exec sleep 600"}));
  holder.wait_for_stdout("held");
  std::string owner = server.command({"HKEYS", "page:hits"});
  SUBCASE("the holder is dead") {
    holder.signal(SIGKILL);
    holder.wait();
  }
  SUBCASE("the holder is late") {
    const std::string told = R"({"host":"web1","pid":7,"lease":600000,"renews":1})";
    server.command({"DEL", "page:hits"});
    holder.signal(SIGTERM);
    holder.wait();
    owner = k_foreign_owner;
    server.command({"HSET", "page:hits", owner, "1"});
    server.command({"HSET", "rlock_info:{page:hits}", owner, told});
    server.command({"PEXPIRE", "rlock_info:{page:hits}", "600000"});
    server.command({"PEXPIRE", "page:hits", "300000"});
  }
  server.command({"HSET", "page:hits", "2026:11", "4711"});
  for (const Words& words : {Words{"doctor", "page:hits"}, Words{"inspect-queue", "page:hits"},
                             Words{"list", "--json"}}) {
    CAPTURE(words);
    CHECK_FALSE(has(said(server, words), "--force"));
  }
  const Words hints = remedies::commands_in(said(server, {"inspect-queue", "page:hits"}), "hint: ");
  REQUIRE(hints.size() == 1);
  remedies::paste(hints[0], {});
  CHECK(server.command({"HGETALL", "page:hits"}) == "2026:11\n4711");
}

TEST_CASE("any hash: of several holders, a run shows the command that lists them") {
  Server server;
  server.command({"HSET", "page:hits", k_foreign_owner, "1", "2026:11", "4711"});
  const std::string refusal = said(server, {"exec", "-n", "page:hits", "--", "true"});
  CHECK_FALSE(offers_to_break(refusal));
  const Words commands = remedies::commands_in(refusal, "to see its holders: ");
  REQUIRE(commands.size() == 1);
  remedies::paste(commands[0], {});
}

TEST_CASE("any hash: nothing is released or renewed for an owner that no lock client makes") {
  Server server;
  server.command({"HSET", "page:hits", "2026:11", "4711"});
  SUBCASE("plain") {}
  SUBCASE("beside an owner") { server.command({"HSET", "page:hits", k_foreign_owner, "1"}); }
  SUBCASE("as a reader") { server.command({"HSET", "page:hits", "mode", "read"}); }
  SUBCASE("as a writer") {
    server.command({"HSET", "page:hits", "mode", "write", "2026:11:write", "1"});
  }
  SUBCASE("with a count of 1") { server.command({"HSET", "page:hits", "2026:11", "1"}); }
  server.command({"PEXPIRE", "page:hits", "3599000"});
  const std::string before = server.command({"DUMP", "page:hits"});
  const EnvChanges held{{"RLOCK_NAME", "page:hits"}, {"RLOCK_OWNER", "2026:11"}};
  for (const std::string command : {"unlock", "renew"}) {
    for (const Result& refused :
         {run(argv_for(server, {command, "--owner", "2026:11", "page:hits"})),
          run(argv_for(server, {command, "page:hits"}), {.env = held})}) {
      CHECK(refused.status == 76);
      CHECK(refused.err ==
            "rlock: page:hits: a hash that might not be a lock: its owners are not UUID:NUMBER: if "
            "it is a lock, unlock --force --kind hash breaks it\n");
    }
  }
  CHECK(server.command({"DUMP", "page:hits"}) == before);
  CHECK(pttl(server, "page:hits") > 3'000'000);
}

TEST_CASE("any hash: nor on several servers") {
  Quorum servers(3);
  servers[1].command({"HSET", "page:hits", "2026:11", "4711"});
  for (const char* command : {"unlock", "renew"}) {
    CHECK(run(servers.rlock(command, {"--owner", "2026:11", "page:hits"})).status == 76);
  }
  CHECK(servers[1].command({"HGETALL", "page:hits"}) == "2026:11\n4711");
  CHECK(pttl(servers[1], "page:hits") == -1);
}

TEST_CASE("any hash: the value of a string lock is an owner, whatever it looks like") {
  Server server;
  server.command({"SET", "job", "2026:11", "PX", "60000"});  // by another library
  CHECK(run(argv_for(server, {"renew", "--owner", "2026:11", "job"})).status == 0);
  CHECK(run(argv_for(server, {"unlock", "--owner", "2026:11", "job"})).status == 0);
  CHECK(server.command({"EXISTS", "job"}) == "0");
  // The lock of another owner since then.
  server.command({"HSET", "job", k_foreign_owner, "1"});
  for (const char* command : {"unlock", "renew"}) {
    CHECK(run(argv_for(server, {command, "--owner", "2026:11", "job"})).status == 1);
  }
}
