// acquire, renew, unlock: what they print, how they end, what they leave.
// Labels: rights-plain quick
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/acquire/commands_fixture.hpp"
#include "support/foreign_owner.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::commands;

namespace {

void check_not_held(const Result& result) {
  CAPTURE(result.err);
  CHECK(result.status == 1);
  CHECK(is_one_message(result.err));
  CHECK(has(result.err, "job: not held"));
  CHECK(result.out.empty());
}

bool is_owner(const std::string& text) {
  const std::string shape = "xxxxxxxx-xxxx-4xxx-xxxx-xxxxxxxxxxxx:";
  if (text.size() <= shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool hex = std::string_view("0123456789abcdef").find(text[i]) != std::string_view::npos;
    if (shape[i] == 'x' ? !hex : text[i] != shape[i]) return false;
  }
  return text.find_first_not_of("0123456789", shape.size()) == std::string::npos;
}

// What the server holds of somebody else's lock; to be the same afterwards.
std::string foreign_lock(const Server& server) {
  server.command({"HSET", "job", k_foreign_owner, "2"});
  server.command({"PEXPIRE", "job", "600000"});
  server.command({"HSET", "rlock_info:{job}", k_foreign_owner, "{}"});
  return server.command({"DUMP", "job"});
}

}  // namespace

TEST_CASE("acquire prints the owner and leaves Redisson's hash with a TTL") {
  Server server;
  const std::string owner = acquire(server.unix_url(), "job");
  CHECK(is_owner(owner));
  CHECK(server.list({"HGETALL", "job"}) == Words{owner, "1"});
  const long ttl = pttl(server);
  CHECK(ttl > 0);
  CHECK(ttl <= 30'000);
  CHECK(server.keys() == Words{"job", "rlock_info:{job}"});
  CHECK(server.list({"HKEYS", "rlock_info:{job}"}) == Words{owner});
  const long info_ttl = std::stol(server.command({"PTTL", "rlock_info:{job}"}));
  CHECK(info_ttl > 0);
  CHECK(info_ttl <= 30'000);
}

TEST_CASE("acquire takes the lease it was asked for, and two runs never share an owner") {
  Server server;
  REQUIRE(invoke(server.unix_url(), {"acquire", "--no-watchdog", "--lease", "90m", "job"}).status ==
          0);
  const long ttl = pttl(server);
  CHECK(ttl > 5'000'000);
  CHECK(ttl <= 5'400'000);
  CHECK(acquire(server.unix_url(), "a") != acquire(server.unix_url(), "b"));
}

TEST_CASE("acquire --json prints one object") {
  Server server;
  const Result result =
      invoke(server.unix_url(), {"--json", "acquire", "--no-watchdog", "--lease", "7s", "job"});
  CHECK(result.status == 0);
  const std::string owner = server.command({"HKEYS", "job"});
  CHECK(result.out ==
        "{\"name\":\"job\",\"owner\":\"" + owner +
            "\",\"kind\":\"reentrant\",\"token\":null,\"lease_ms\":7000,\"count\":1}\n");
}

TEST_CASE("acquire keeps no lock whose owner it cannot tell") {
  Server server;
  const Result result = run({"sh", "-c", "exec \"$0\" \"$@\" > /dev/full", rlock_program(), "-r",
                             server.unix_url(), "acquire", "--no-watchdog", "job"});
  CHECK(result.status != 0);
  CHECK(is_one_message(result.err));
  CHECK(server.keys().empty());
}

TEST_CASE("unlock gives the hold back, once") {
  Server server;
  const std::string owner = acquire(server.unix_url(), "job");
  check_silent(invoke(server.unix_url(), {"unlock", "--owner", owner, "job"}), 0);
  CHECK(server.keys().empty());
  check_not_held(invoke(server.unix_url(), {"unlock", "--owner", owner, "job"}));
  CHECK(without_latches(server).empty());
  check_silent(invoke(server.unix_url(), {"-q", "unlock", "--owner", owner, "job"}), 1);
}

TEST_CASE("unlock gives one of several holds back and leaves the lease as it is") {
  Server server;
  const std::string owner = acquire(server.unix_url(), "job");
  server.command({"HINCRBY", "job", owner, "2"});
  server.command({"PEXPIRE", "job", "500000"});
  for (const char* left : {"2", "1"}) {
    check_silent(invoke(server.unix_url(), {"unlock", "--owner", owner, "job"}), 0);
    CHECK(server.command({"HGET", "job", owner}) == left);
    CHECK(pttl(server) > 100'000);
  }
  check_silent(invoke(server.unix_url(), {"unlock", "--owner", owner, "job"}), 0);
  CHECK(server.keys().empty());
}

TEST_CASE("unlock --force breaks anybody's lock and says whose it was, but for -q") {
  Server server;
  foreign_lock(server);
  check_silent(invoke(server.unix_url(), {"-q", "unlock", "--force", "-y", "job"}), 0);
  CHECK(server.keys().empty());
  check_not_held(invoke(server.unix_url(), {"unlock", "--force", "-y", "job"}));
  foreign_lock(server);
  const Result told = invoke(server.unix_url(), {"unlock", "--force", "-y", "job"});
  CHECK(told.status == 0);
  CHECK(told.err == "rlock: job: taken from " + k_foreign_owner + " (" + server.unix_url() + ")\n");
  CHECK(server.keys().empty());
}

TEST_CASE("unlock needs an owner or --force, and asks before it breaks a lock") {
  Server server;
  for (const Words& words :
       {Words{"unlock", "job"}, Words{"unlock", "--owner", "x", "--force", "job"},
        Words{"unlock", "--owner", "x"}, Words{"unlock", "--force", ""},
        Words{"unlock", "--force", "job"}, Words{"unlock", "--owner", "x", "-y", "job"},
        Words{"unlock", "--force", "-y", "--kind", "reentrant", "job"},
        Words{"unlock", "--owner", "x", "--kind", "simple", "job"}}) {
    const Result result = invoke(server.unix_url(), words);
    CHECK(result.status == 64);
    CHECK(is_one_message(result.err));
  }
}

TEST_CASE("a mistyped word is told with the one that may be meant") {
  for (const auto& [words, meant] : std::vector<std::pair<Words, std::string>>{
           {{"exce", "job", "--", "true"}, "unknown command 'exce'; did you mean 'exec'?"},
           {{"help", "exce"}, "unknown command 'exce'; did you mean 'exec'?"},
           {{"exec", "--lese", "5s", "job", "--", "true"}, "'--lese'; did you mean '--lease'?"},
           {{"list", "--jsno=yes"}, "unknown option '--jsno=yes'; did you mean '--json'?"},
           {{"exec", "--lease"}, "--lease: DUR is missing (see"},
           {{"exec", "-w", "1", "-w", "2", "job"}, "--wait: given twice (see"},
           {{"exec", "-w1", "-w2", "-w3", "job"}, "--wait: given 3 times (see"},
           {{"watch", "--until", "gone", "job"}, "--until: 'gone'; expected held or free (see"},
           {{"exec", "--on-lost", "x", "job"},
            "--on-lost: 'x'; expected term, kill or ignore (see"},
           {{"unlock", "--force", "--kind", "x", "job"},
            "--kind: 'x'; expected simple or hash (see"},
           {{"exec", "--kill-after", "11s", "job", "--", "true"}, "a third of the lease of 30s"},
           {{"inspect-queue", "job", "other"}, "too many arguments: 'other' is one (see"},
           {{"zzz", "--help"}, "unknown command 'zzz' (see"},
           {{"-q", "exce", "-h"}, "unknown command 'exce'; did you mean 'exec'?"},
           {{"zzz"}, "unknown command 'zzz' (see"}}) {
    Words argv{rlock_program()};
    argv.insert(argv.end(), words.begin(), words.end());
    const Result result = run(argv);
    CHECK(result.status == 64);
    CAPTURE(result.err);
    CHECK(has(result.err, meant));
    CHECK(is_one_message(result.err));
  }
}

TEST_CASE("the command line that a refusal shows can be pasted") {
  Server server;
  for (const auto& [words, out] : std::vector<std::pair<Words, std::string>>{
           {{"my job", "other's", "--", "env"}, "RLOCK_NAME=my job\nother's\n"},
           {{"$HOME", "-c", "echo \"a  b\" 'c'"}, "a  b c\n"},
           {{"a\x1b\nb", "env"}, "RLOCK_NAME=a\x1b\nb\n"}}) {
    Words argv{rlock_program()};
    argv.insert(argv.end(), words.begin(), words.end());
    const std::string text = run(argv).err;
    CAPTURE(text);
    const std::string start = "; did you mean 'rlock ";
    const std::size_t begin = text.find(start);
    const std::size_t end = text.rfind("'? (see rlock --help)");
    REQUIRE(end != std::string::npos);
    const std::string shown = text.substr(begin + start.size(), end - begin - start.size());
    const Result pasted = run({"bash", "-c", "\"$0\" " + shown, rlock_program()},
                              {.env = {{"RLOCK_REDIS", server.unix_url()}}});
    CHECK(pasted.status == 0);
    CHECK(has(pasted.out, out));
  }
}

TEST_CASE("help is there without a server: of rlock, and of each command") {
  const std::string all = run({rlock_program(), "--help"}).out;
  CHECK(run({rlock_program(), "help"}).out == all);
  CHECK(run({rlock_program(), "help", "help"}).out == all);
  CHECK(has(all, "rlock help COMMAND"));
  CHECK(has(run({rlock_program(), "exec", "-h"}).out, "{-- CMD [ARG...] | -c STRING}\n"));
  CHECK(has(run({rlock_program(), "renew", "-h"}).out, "[--lease DUR] NAME\n"));
  CHECK(has(run({rlock_program(), "unlock", "-h"}).out, "[--kind KIND]] NAME\n"));
  const std::string acquire = run({rlock_program(), "acquire", "-h"}).out;
  CHECK_FALSE(has(acquire, "CMD"));
  CHECK_FALSE(has(acquire, "--at-least"));
  CHECK(run({rlock_program(), "help", "exec"}).out == run({rlock_program(), "exec", "--help"}).out);
  const Result alone = run({rlock_program()});
  CHECK(alone.status == 64);
  CHECK(alone.out.empty());
  CHECK(alone.err == all);
}

TEST_CASE("the examples in the help of exec run, each with a true command") {
  Server server;
  std::istringstream help(run({rlock_program(), "exec", "--help"}).out);
  int examples = 0;
  for (std::string line; std::getline(help, line);) {
    const std::size_t end = line.find(" -- ");
    if (!line.starts_with("    rlock exec ") || end == std::string::npos) continue;
    ++examples;
    CAPTURE(line);
    const Result result =
        run({"sh", "-c", "rlock() { \"$RLOCK\" \"$@\"; }; " + line.substr(0, end) + " -- true"},
            {.env = {{"RLOCK", rlock_program()}, {"RLOCK_REDIS", server.unix_url()}}});
    CHECK(result.status == 0);
    CHECK(result.err.empty());
  }
  CHECK(examples == 3);
}

TEST_CASE("unlock inside a command finds the owner by itself") {
  Server server;
  // Two holds, so that exec's own is still there at the end.
  const Result result = invoke(
      server.unix_url(),
      {"exec", "job", "--", "sh", "-c",
       "redis-cli -s \"$2\" hincrby job \"$RLOCK_OWNER\" 1; \"$0\" -r \"$1\" unlock job; echo $?",
       rlock_program(), server.unix_url(), server.unix_path()});
  CAPTURE(result.err);
  CHECK(result.status == 0);
  CHECK(result.out == "2\n0\n");
  CHECK(without_latches(server).empty());
}

TEST_CASE("exec says that the lock was lost if the command gives its hold away") {
  Server server;
  const Result result = invoke(server.unix_url(), {"exec", "job", "--", rlock_program(), "-r",
                                                   server.unix_url(), "unlock", "job"});
  CHECK(result.status == 79);
  CHECK(is_one_message(result.err));
  CHECK(without_latches(server).empty());
}

TEST_CASE("renew extends the lease, and never shortens it") {
  Server server;
  const std::string owner = acquire(server.unix_url(), "job");
  check_silent(invoke(server.unix_url(), {"renew", "--owner", owner, "--lease", "10m", "job"}), 0);
  CHECK(pttl(server) > 100'000);
  CHECK(std::stol(server.command({"PTTL", "rlock_info:{job}"})) > 100'000);
  check_silent(invoke(server.unix_url(), {"renew", "--owner", owner, "job"}), 0);
  CHECK(pttl(server) > 100'000);
  CHECK(server.command({"HGET", "job", owner}) == "1");
}

TEST_CASE("renew does not bring back a lock that is gone") {
  Server server;
  const std::string owner = acquire(server.unix_url(), "job");
  server.command({"DEL", "job", "rlock_info:{job}"});
  check_not_held(invoke(server.unix_url(), {"renew", "--owner", owner, "job"}));
  CHECK(server.keys().empty());
}

TEST_CASE("S5: unlock and renew never touch another owner's lock" * doctest::test_suite("S5")) {
  Server server;
  const std::string before = foreign_lock(server);
  const std::string ttl_of = server.command({"PEXPIRETIME", "job"});
  for (const std::string& who : {std::string("u:1"), std::string(""), std::string("mode"),
                                 k_foreign_owner + "0", k_foreign_client, k_foreign_owner + " "}) {
    CAPTURE(who);
    check_not_held(invoke(server.unix_url(), {"unlock", "--owner", who, "job"}));
    check_not_held(invoke(server.unix_url(), {"renew", "--owner", who, "--lease", "1h", "job"}));
  }
  CHECK(server.command({"DUMP", "job"}) == before);
  CHECK(server.command({"PEXPIRETIME", "job"}) == ttl_of);
  CHECK(without_latches(server) == Words{"job", "rlock_info:{job}"});
}

TEST_CASE("global options may stand before and after the command") {
  Server server;
  CHECK(run(rlock_argv("-r", server.unix_url(), "exec", "job", "--", "true")).status == 0);
  CHECK(run(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "true")).status == 0);
  CHECK(run(rlock_argv("exec", "job", "-r", server.unix_url(), "--", "true")).status == 0);
  CHECK(run(rlock_argv("inspect-queue", "job", "--json", "-r", server.unix_url())).status == 0);
}

TEST_CASE("on success rlock prints nothing of its own") {
  Server server;
  const Result result =
      invoke(server.unix_url(), {"exec", "job", "--", "sh", "-c", "echo out; echo err >&2"});
  CHECK(result.status == 0);
  CHECK(result.out == "out\n");
  CHECK(result.err == "err\n");
}
