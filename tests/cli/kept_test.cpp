// A lock that --at-least keeps after its run: nobody is told of a holder that does not exist.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/invoke.hpp"
#include "support/process.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

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
  Words kind;
  SUBCASE("plain") {}
  SUBCASE("fair") { kind = {"--fair"}; }
  SUBCASE("string") { kind = {"--kind", "simple"}; }
  SUBCASE("reader") { kind = {"-s"}; }
  SUBCASE("writer") { kind = {"-x"}; }
  SUBCASE("semaphore") { kind = {"--permits", "1"}; }
  keep(server, kind);
  Words refused{"exec", "-n"};
  if (kind == Words{"-s"}) {
    refused.emplace_back("-x");
  } else {
    refused.insert(refused.end(), kind.begin(), kind.end());
  }
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
  Server server;
  std::string kind;
  SUBCASE("plain") {}
  SUBCASE("fair") { kind = "--fair "; }
  SUBCASE("reader") { kind = "-s "; }
  SUBCASE("writer") { kind = "-x "; }
  SUBCASE("string") { kind = "--kind simple "; }
  SUBCASE("value") { kind = "--kind simple --token same "; }
  SUBCASE("permit") { kind = "--permits 1 "; }
  SUBCASE("nothing is told of it") { kind = "--no-info "; }
  const std::string exec = "'" + rlock_program() + "' -r '" + server.unix_url() + "' exec " + kind;
  // Readers do not exclude each other.
  const std::string inner = "'" + rlock_program() + "' -r '" + server.unix_url() + "' exec " +
                            (kind == "-s " ? "-x " : kind);
  const std::string nested = inner + "-n --lease 1h job -- true; echo $? >back";
  const std::string left_behind =
      "(until test -e go; do sleep 0.1; done; " + nested + ") >out 2>&1 &";
  const Result outer =
      run({"sh", "-c", exec + "--at-least 1m job -- sh -c \"$1\"", "sh", left_behind},
          {.cwd = server.directory()});
  CHECK(outer.status == 0);
  run({"touch", server.directory() + "/go"});
  const auto file = [&](const std::string& name) {
    return run({"cat", server.directory() + "/" + name}).out;
  };
  CHECK(wait_until([&] { return !file("back").empty(); }));
  CHECK(file("back") == "75\n");
  CHECK(server.command({"PTTL", "job"}).size() <= 5);  // less than two minutes
  const Result look = invoke(server, {"inspect-queue", "job"});
  CHECK(has(look.out, "kept by --at-least until 2"));
  CHECK(has(look.out, " ended"));
}

TEST_CASE(
    "--at-least: of a writer whose reader goes on for longer, the lock stays no longer than both") {
  Server server;
  const std::string reader = "'" + rlock_program() + "' -r '" + server.unix_url() +
                             "' exec -s --lease 1h job -- sh -c "
                             "'touch in; until test -e go; do sleep 0.1; done' >/dev/null 2>&1 & "
                             "until test -e in; do sleep 0.1; done";
  Process writer(
      argv_for(server, {"exec", "-x", "--at-least", "1m", "job", "--", "sh", "-c", reader}),
      {.cwd = server.directory()});
  CHECK(writer.wait_exit().status == 0);
  CHECK(std::stol(server.command({"PTTL", "job"})) > 120'000);
  run({"touch", server.directory() + "/go"});
  CHECK(wait_until([&] { return std::stol(server.command({"PTTL", "job"})) <= 60'000; }));
  check_told(invoke(server, {"inspect-queue", "job"}).out);
}
