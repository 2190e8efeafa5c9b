// A lock that --at-least keeps after its run: nobody is told of a holder that does not exist.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/acquire_fixture.hpp"
#include "support/contents.hpp"
#include "support/invoke.hpp"
#include "support/process.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

// The options of every kind of lock, one in each subcase.
Words each_kind() {
  Words kind;
  SUBCASE("plain") {}
  SUBCASE("fair") { kind = {"--fair"}; }
  SUBCASE("string") { kind = {"--kind", "simple"}; }
  SUBCASE("reader") { kind = {"-s"}; }
  SUBCASE("writer") { kind = {"-x"}; }
  SUBCASE("semaphore") { kind = {"--permits", "1"}; }
  return kind;
}

// The options of a run that a lock of this kind keeps away: readers do not exclude each other.
Words excluded_by(const Words& kind) { return kind == Words{"-s"} ? Words{"-x"} : kind; }

// Ends a run of true that keeps its lock for an hour.
void keep(const Server& server, const Words& options) {
  Words words{"exec", "--at-least", "1h"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"job", "--", "true"});
  REQUIRE(invoke(server, words).status == 0);
}

// Checks that a text says until when the lock is kept, and of whom, and not that somebody has it.
void check_told(const std::string& text) {
  CAPTURE(text);
  const std::size_t kept = text.find("kept by --at-least until 2");
  const std::size_t after = text.find("Z after the run of ");
  REQUIRE(kept != std::string::npos);
  REQUIRE(after != std::string::npos);
  CHECK(kept < after);
  CHECK(has(text.substr(after), ") ended"));
  CHECK_FALSE(has(text, "held by"));
}

// Checks that JSON has a time at which the lock ends, and returns it.
std::string check_json(const std::string& json) {
  CAPTURE(json);
  const std::string key = "\"kept_until_ms\":";
  const std::size_t at = json.find(key);
  REQUIRE(at != std::string::npos);
  const std::string time = json.substr(at + key.size(), 13);
  CHECK(time.find_first_not_of("0123456789") == std::string::npos);
  return time;
}

}  // namespace

TEST_CASE("--at-least: who asks is told that the run has ended, of every kind of lock") {
  Server server;
  const Words kind = each_kind();
  keep(server, kind);
  Words refused{"exec", "-n"};
  const Words other = excluded_by(kind);
  refused.insert(refused.end(), other.begin(), other.end());
  refused.insert(refused.end(), {"job", "--", "true"});
  const Result refusal = invoke(server, refused);
  CHECK(refusal.status == 75);
  CHECK(is_one_message(refusal.err));
  check_told(refusal.err);
  check_told(invoke(server, {"inspect-queue", "job"}).out);
  const std::string until = check_json(invoke(server, {"inspect-queue", "--json", "job"}).out);
  if (!kind.empty() && kind.back() == "simple") return;  // list shows no strings
  check_told(invoke(server, {"list"}).out);
  CHECK(check_json(invoke(server, {"list", "--json"}).out) == until);
}

TEST_CASE("--at-least: nobody can renew or release the lock of a run that has ended") {
  Server server;
  const Words kind = each_kind();
  keep(server, kind);
  const bool is_string = !kind.empty() && kind.back() == "simple";
  const std::string shown = invoke(server, {"inspect-queue", "--json", "job"}).out;
  const std::string key = "\"owner\":\"";
  const std::size_t at = shown.find(key) + key.size();
  const std::string owner = shown.substr(at, shown.find('"', at) - at);
  const std::vector<std::string> before = server.keys();
  for (const Words& words : {Words{"unlock", "--owner", owner, "job"},
                             Words{"renew", "--owner", owner, "--lease", "24h", "job"}}) {
    CAPTURE(words[0]);
    const Result result = invoke(server, words);
    CHECK(result.status == 1);
    CHECK(is_one_message(result.err));
    check_told(result.err);
    CHECK(has(result.err, is_string ? "; unlock --force --kind simple breaks it"
                                    : "; unlock --force breaks it"));
    const bool is_shared = kind == Words{"-s"} || (!kind.empty() && kind[0] == "--permits");
    CHECK(has(result.err, ", with the holds of all others") == is_shared);
    CHECK(server.keys() == before);
    if (server.command({"TYPE", "job"}) == "hash") CHECK(pttl(server) <= 3'600'000);
  }
  Words breaking = {"unlock", "--force", "-y"};
  if (is_string) breaking.insert(breaking.end(), {"--kind", "simple"});
  breaking.emplace_back("job");
  CHECK(invoke(server, breaking).status == 0);
}

TEST_CASE("--at-least: of a lock whose run goes on, nothing is kept yet") {
  Server server;
  Process holder(argv_for(server, {"exec", "--at-least", "1h", "job", "--", "cat"}),
                 {.hold_stdin = true});
  REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "1"; }));
  CHECK(has(invoke(server, {"exec", "-n", "job", "--", "true"}).err, "held by "));
  CHECK(has(invoke(server, {"inspect-queue", "--json", "job"}).out, "\"kept_until_ms\":null"));
  CHECK(has(invoke(server, {"list", "--json"}).out, "\"kept_until_ms\":null"));

  // watch tells when the run ends, as there is a lock, but no holder any more.
  Process watch(argv_for(server, {"watch", "job"}));
  Process watch_json(argv_for(server, {"watch", "--json", "job"}));
  watch.wait_for_stdout(" is held by ");
  watch_json.wait_for_stdout("\"kept_until_ms\":null");
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
  watch.wait_for_stdout(" renewed, kept by --at-least until 2");
  watch_json.wait_for_stdout("\"kept_until_ms\":1");
  CHECK(has(invoke(server, {"watch", "--for", "0", "job"}).out, " is kept by --at-least until 2"));
}

TEST_CASE("--at-least: who waits, and who breaks the lock, is told that the run has ended") {
  Server server;
  keep(server, {});
  Pty waiter(argv_for(server, {"exec", "job", "--", "true"}));
  waiter.expect("for a lock that is kept by --at-least until 2");
  Pty force(argv_for(server, {"unlock", "--force", "job"}));
  force.expect("job: kept by --at-least until 2");
  force.expect("Break it?");
  force.type("y\n");
  force.expect("job: taken from the ended run of ");
  CHECK(waiter.wait().status == 0);
}

TEST_CASE("--at-least: a process that the run left behind takes part no longer") {
  const Server server;
  const Shells shells(server);
  Words kind = each_kind();
  SUBCASE("nothing is told of it") { kind = {"--no-info"}; }
  const Words command = shells.argv(
      "(await go; rlock exec -n --lease 1h \"$@\" job -- true; echo $? >$DIR/back) >/dev/null 2>&1 "
      "&");
  const Words outer =
      rlock_argv("exec", "--at-least", "1m", kind, "job", "--", command, "sh", excluded_by(kind));
  CHECK(run(outer, shells.options()).status == 0);
  shells.go("go");
  CHECK(wait_until([&] { return !contents(shells.directory + "/back").empty(); }));
  CHECK(contents(shells.directory + "/back") == "75\n");
  CHECK(server.command({"PTTL", "job"}).size() <= 5);  // less than two minutes
  const Result look = invoke(server, {"inspect-queue", "job"});
  CHECK(has(look.out, "kept by --at-least until 2"));
  CHECK(has(look.out, " ended"));
}

TEST_CASE(
    "--at-least: of a writer whose reader goes on for longer, the lock stays no longer than both") {
  const Server server;
  const Shells shells(server);
  const Words command = shells.argv(
      "(rlock exec -s --lease 1h job -- sh -c '. $DIR/lib.sh; touch $DIR/in; await go') "
      ">/dev/null 2>&1 & await in");
  CHECK(run(rlock_argv("exec", "-x", "--at-least", "1m", "job", "--", command), shells.options())
            .status == 0);
  CHECK(std::stol(server.command({"PTTL", "job"})) > 120'000);
  shells.go("go");
  CHECK(wait_until([&] { return std::stol(server.command({"PTTL", "job"})) <= 60'000; }));
  check_told(invoke(server, {"inspect-queue", "job"}).out);
}
