// Several holds of one owner over several servers: each server counts each of them, also one that
// has forgotten the lock.
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/acquire_fixture.hpp"
#include "support/quorum.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

// Each server forgets the lock, one after the other, and has both holds of it again.
void forget_one_by_one(Quorum& quorum) {
  for (int i = 0; i < quorum.size(); ++i) {
    quorum[i].command({"FLUSHALL"});
    CHECK(wait_until([&, i] { return quorum[i].command({"HVALS", "job"}) == "2"; }));
  }
}

void check_counts(Quorum& quorum, const std::string& count) {
  for (int i = 0; i < quorum.size(); ++i) {
    CHECK(wait_until([&, i] { return quorum[i].command({"HVALS", "job"}) == count; }));
  }
}

}  // namespace

TEST_CASE("Redlock: unlock gives back the hold of acquire, and not the outer run's") {
  Quorum quorum(3);
  const Shells shells(quorum[0].directory(), "unused");
  const std::string acquire = quoted(quorum.rlock("acquire", {"--export", "--lease", "9s", "job"}));
  const std::string unlock = quoted(quorum.rlock("unlock", {"job"}));
  const std::string script = ". " + shells.directory + "/lib.sh; eval \"$(" + acquire +
                             ")\" || exit; echo both; await unlock; " + unlock +
                             "; echo unlocked $?; await end";
  Process outer(quorum.rlock("exec", {"--lease", "9s", "job", "--", "sh", "-c", script}),
                shells.options());
  outer.wait_for_stdout("both");
  forget_one_by_one(quorum);
  shells.go("unlock");
  outer.wait_for_stdout("unlocked 0");
  check_counts(quorum, "1");
  CHECK(run(quorum.rlock("exec", {"-n", "job", "--", "true"})).status == 75);
  shells.go("end");
  CHECK(outer.wait().status == 0);
  CHECK(quorum.becomes_free_of("job"));
  CHECK(quorum.becomes_free_of("rlock_info:{job}"));
}

TEST_CASE(
    "Redlock: a string counts no holds: what is acquired below a run is not given back alone") {
  Quorum quorum(3);
  const Shells shells(quorum[0].directory(), "unused");
  const std::vector<std::string> simple = {"--kind", "simple", "--lease", "1h"};
  const auto with = [&](const std::string& command, std::vector<std::string> options) {
    options.insert(options.begin(), simple.begin(), simple.end());
    return quorum.rlock(command, options);
  };
  const std::string script = quorum.await(3, "exists job", "1") + "eval \"$(" +
                             quoted(with("acquire", {"--export", "job"})) + ")\" || exit; " +
                             quoted(quorum.rlock("unlock", {"job"})) + "; echo unlocked $?; . " +
                             shells.directory + "/lib.sh; await end";
  Process outer(with("exec", {"job", "--", "sh", "-c", script}), shells.options());
  outer.wait_for_stdout("unlocked 0");
  CHECK(shells.watchdogs().empty());  // there is nothing of its own to keep
  CHECK(quorum.having("job") == 3);
  CHECK(run(with("exec", {"-n", "job", "--", "true"})).status == 75);
  shells.go("end");
  CHECK(outer.wait().status == 0);
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("Redlock: nothing is left of a hold of acquire, however it is given back") {
  Quorum quorum(3);
  const Shells shells(quorum[0].directory(), "unused");
  const auto acquire = [&](const std::vector<std::string>& words) {
    return quoted(quorum.rlock("acquire", words)) + "--lease 1h job)";
  };
  const std::string take = "owner=$(" + acquire({});
  const std::string exports = "eval \"$(" + acquire({"--export"}) + "\"; ";
  const std::string exports_string = "eval \"$(" + acquire({"--export", "--kind=simple"}) + "\"; ";
  const std::string unlock = quoted(quorum.rlock("unlock", {})) + "job";
  const std::string by_owner = quoted(quorum.rlock("unlock", {"--owner"})) + "\"$owner\" job";
  const std::string force = quoted(quorum.rlock("unlock", {"-q", "--force", "-y"})) + "job";
  for (const std::string& script :
       {take, take + "; " + by_owner, take + "; " + force, exports + unlock, exports + exports,
        exports + exports + unlock + "; " + unlock, exports_string + unlock,
        exports_string + exports_string + unlock + "; " + unlock}) {
    CAPTURE(script);
    const Result result = run({"sh", "-c", script}, shells.options());
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.status == 0);
    CHECK(result.err.empty());
    CHECK(quorum.becomes_free_of("job"));
  }
  CHECK(quorum.become_empty());
}

TEST_CASE("Redlock: unlock waits for a server that takes time to be connected to") {
  Quorum quorum(3);
  const Result taken = run(quorum.rlock("acquire", {"--no-watchdog", "--lease", "1h", "job"}));
  REQUIRE(taken.status == 0);
  const std::string owner = taken.out.substr(0, taken.out.find('\n'));
  quorum.proxy(2).set_delay(300ms);
  auto unlock = rlock_argv("unlock", "--owner", owner, "job");
  for (int i = 0; i < quorum.size(); ++i) {
    quorum[i].command({"ACL", "SETUSER", "locker", "on", ">password", "~*", "&*", "+@all"});
    unlock.insert(unlock.end(),
                  {"-r", "redis://locker:password@" + quorum.proxy(i).url().substr(8)});
  }
  CHECK(run(unlock).status == 0);
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("Redlock: acquire --no-watchdog leaves the lock on a server that is slow, too") {
  Quorum quorum(3);
  quorum.proxy(0).set_delay(50ms);
  for (int i = 0; i < 5; ++i) {
    const std::string name = "job" + std::to_string(i);
    quorum[0].command({"SCRIPT", "FLUSH"});  // so that one request is not enough
    CHECK(run(quorum.rlock("acquire", {"--no-watchdog", "--fence", name})).status == 0);
    CHECK(quorum.having(name) == 3);
    CHECK(quorum.having("redisson_lock_token:{" + name + "}") == 3);
  }
}

TEST_CASE("Redlock: a hold of acquire that was renewed by hand can be given back") {
  Quorum quorum(3);
  const std::string script =
      "eval \"$(" + quoted(quorum.rlock("acquire", {"--export", "--no-watchdog"})) +
      "--lease 20s job)\"; " + quoted(quorum.rlock("renew", {"--lease", "1h", "job"})) + "&& " +
      // What proves the hold lasts as long as the lock.
      quorum.ask_each(
          "--raw eval 'return redis.call(\"pttl\", "
          "redis.call(\"keys\", \"redisson_unlock_latch:*\")[1]) > 3600000' 0") +
      "; " + quoted(quorum.rlock("unlock", {"job"}));
  const Result result = run({"sh", "-c", script});
  CAPTURE(result.err);
  CHECK(result.status == 0);
  CHECK(result.out == "1\n1\n1\n");
  CHECK(quorum.become_empty());
}

TEST_CASE("Redlock: an outer run that ends leaves the nested one what servers have forgotten") {
  Quorum quorum(3);
  const Shells shells(quorum[0].directory(), "unused");
  const std::string nested = quoted(
      quorum.rlock("exec", {"--lease", "9s", "job", "--", "sh", "-c",
                            ". " + shells.directory + "/lib.sh; echo both; await end; echo end"}));
  Process outer(
      quorum.rlock("exec", {"--lease", "9s", "job", "--", "sh", "-c",
                            ". " + shells.directory + "/lib.sh; " + nested + "& await outer"}),
      shells.options());
  outer.wait_for_stdout("both");
  SUBCASE("which know all") { check_counts(quorum, "2"); }
  SUBCASE("which have forgotten it, each once") { forget_one_by_one(quorum); }
  shells.go("outer");
  CHECK(outer.wait_exit().status == 0);
  check_counts(quorum, "1");
  // Nor is the owner told as dead.
  for (int i = 0; i < quorum.size(); ++i) {
    const Result look =
        run(rlock_argv("inspect-queue", "-r", quorum[i].unix_url(), "--json", "job"));
    CHECK(has(look.out, "\"pid\":null"));
    CHECK(has(look.out, "\"problems\":[]"));
  }
  CHECK(run(quorum.rlock("exec", {"-n", "job", "--", "true"})).status == 75);
  shells.go("end");
  CHECK(quorum.becomes_free_of("job"));
}
