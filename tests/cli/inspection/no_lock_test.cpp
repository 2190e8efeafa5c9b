// Keys that are no locks: every command says so, and none changes them.
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "support/foreign_owner.hpp"
#include "support/invoke.hpp"
#include "support/process.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

// What makes the key "data" of each type.
const std::map<std::string, Words> k_makers = {
    {"list", {"RPUSH", "data", k_foreign_owner}},
    {"set", {"SADD", "data", k_foreign_owner}},
    {"zset", {"ZADD", "data", "1", k_foreign_owner}},
    {"stream", {"XADD", "data", "*", k_foreign_owner, "1"}},
    {"hash", {"HSET", "data", "name", "ann", "2026:11", "many"}},
};

// Returns all that a command says, on stdout and stderr, and the end of it, such as "status 76".
std::string said(const Server& server, const Words& words) {
  const Result result = invoke(server, words);
  return result.out + result.err + "status " + std::to_string(result.status);
}

}  // namespace

TEST_CASE("no lock: commands that look say what it is, and never that it is held") {
  for (const auto& [type, maker] : k_makers) {
    CAPTURE(type);
    Server server;
    server.command(maker);
    // With a queue beside it, list finds it.
    server.command({"RPUSH", "redisson_lock_queue:{data}", k_foreign_owner});
    const std::string no_lock = "not a lock, but a " + type;
    CHECK(has(said(server, {"inspect-queue", "data"}), "data: " + no_lock + "\n"));
    CHECK(has(said(server, {"watch", "--for", "0", "data"}), "data is " + no_lock));
    for (const Words& words : {Words{"doctor", "data"}, Words{"doctor"}}) {
      CHECK(has(said(server, words), "data: problem: wrong_kind\n"));
    }
    const std::string table = said(server, {"list"});
    CHECK(has(table, "data  unknown  held"));
    CHECK(has(table, "wrong_kind"));
    for (const Words& words : {Words{"list", "--json"}, Words{"inspect-queue", "--json", "data"},
                               Words{"watch", "--json", "--for", "0", "data"}}) {
      const std::string json = said(server, words);
      CAPTURE(json);
      CHECK(has(json, R"("certain":false)"));
      CHECK(has(json, R"("state":"held")"));        // for no lock can take the name
      CHECK_FALSE(has(json, R"("owner":"name")"));  // nor is a field a holder
    }
    Pty screen(argv_for(server, {"watch", "data"}), {.columns = 200});
    screen.expect(no_lock);
    screen.type("q");
    CHECK(screen.wait().status == 0);
  }
}

TEST_CASE("no lock: watch --until takes it neither for held nor for free") {
  for (const auto& [type, maker] : k_makers) {
    CAPTURE(type);
    Server server;
    server.command(maker);
    for (const char* state : {"held", "free"}) {
      CHECK(invoke(server, {"watch", "--until", state, "--for", "0", "data"}).status == 124);
    }
    Process watch(argv_for(server, {"watch", "--until", "free", "data"}));
    watch.wait_for_stdout("not a lock");
    server.command({"DEL", "data"});
    CHECK(watch.wait().status == 0);
  }
}

TEST_CASE("no lock: nothing is released, renewed, broken or evicted") {
  for (const auto& [type, maker] : k_makers) {
    CAPTURE(type);
    Server server;
    server.command(maker);
    const std::string before = server.command({"DUMP", "data"});
    for (const Words& words : {Words{"unlock", "--force", "-y", "data"},
                               Words{"unlock", "--force", "-y", "--kind", "simple", "data"},
                               Words{"unlock", "--force", "-y", "--kind", "hash", "data"}}) {
      CAPTURE(words);
      CHECK(has(said(server, words), "status 76"));
    }
    // A queue beside a hash may still be mended.
    CHECK(invoke(server, {"evict", "data", k_foreign_owner}).status == (type == "hash" ? 1 : 76));
    for (const std::string& owner :
         {k_foreign_owner, std::string("name"), std::string("2026:11")}) {
      CHECK(invoke(server, {"unlock", "--owner", owner, "data"}).status == 1);
      CHECK(invoke(server, {"renew", "--owner", owner, "data"}).status == 1);
    }
    CHECK(server.command({"DUMP", "data"}) == before);
    CHECK(pttl(server, "data") == -1);
  }
}
