// What exec may be given that cannot be right: limits, commands, and a RLOCK_HELD that somebody has
// changed. One line, the documented status, and no lock is left.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <doctest/doctest.h>

#include "support/foreign_owner.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

Words exec(const Server& server, const Words& words) {
  return rlock_argv("exec", "-r", server.unix_url(), words);
}

void check_refused(const Server& server, const Words& words, int status, const std::string& part) {
  const Result result = run(exec(server, words));
  CAPTURE(part);
  CAPTURE(result.err);
  CHECK(result.status == status);
  CHECK(result.out.empty());
  CHECK(result.err.starts_with("rlock: "));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK(has(result.err, part));
  CHECK(server.keys().empty());
}

std::string script(const Server& server, const std::string& name, const std::string& text,
                   mode_t mode) {
  const std::string path = server.directory() + "/" + name;
  std::ofstream(path) << text;
  ::chmod(path.c_str(), mode);
  return path;
}

// Runs a command under the lock, with this RLOCK_HELD, and returns it with what it is handed.
Result run_with_held(const Server& server, const std::string& held) {
  return run(exec(server, {"-n", "job", "--", "sh", "-c",
                           "printf '%s\\n' \"$RLOCK_OWNER\" \"$RLOCK_HELD\""}),
             {.env = {{"RLOCK_HELD", held}}});
}

}  // namespace

TEST_CASE("exec: a line for a shell, and a word of the shell, are told that -c is for them") {
  const Server server;
  for (const char* command :
       {"a && b", "ls -l", "a|b", "X=1", "cd", "source", "if", "ulimit", "export", "eval", "set",
        "!", "pushd", "readonly", "disown", "chdir"}) {  // of dash
    check_refused(server, {"job", "--", command}, 127, " -c in the place of '-- CMD'");
  }
  // Those builtins of bash that are no programs, too.
  const Result builtins = run({"bash", "-c",
                               "for w in $(compgen -b); do "
                               "type -P -- \"$w\" >/dev/null || echo \"$w\"; done"});
  std::istringstream lines(builtins.out);
  int count = 0;
  for (std::string builtin; std::getline(lines, builtin); ++count) {
    if (builtin == ".") continue;  // see below
    check_refused(server, {"job", "--", builtin}, 127, " -c in the place of '-- CMD'");
  }
  CHECK(count > 40);
  // In each directory of PATH, it is the directory itself.
  check_refused(server, {"job", "--", ".", "./settings"}, 126, " -c in the place of '-- CMD'");
  CHECK_FALSE(has(run(exec(server, {"job", "--", "no-such-program"})).err, "-c"));
  CHECK_FALSE(has(run(exec(server, {"job", "--", "/no/such/program"})).err, "-c"));
}

TEST_CASE("exec: --at-least and --at-most that make no sense are told before anything is sent") {
  Server server;
  for (const std::string option : {"--at-least", "--at-most"}) {
    for (const std::string value : {" ", "x", "-1", "-1s", "1y", "1e9", "nan", "0x10", "1s1",
                                    "9999999999h", "99999999999999999999999", "1.5.5s"}) {
      check_refused(server, {option + "=" + value, "job", "--", "true"}, 64, option);
    }
  }
  check_refused(server, {"--at-least", "5s", "--at-most", "4999ms", "job", "--", "true"}, 64,
                "--at-least: it is longer than --at-most");
  CHECK(run(rlock_argv("exec", "-r", "unix:///nonexistent", "--at-least", "2s", "--at-most", "1s",
                       "job", "--", "true"))
            .status == 64);
  // 100 years are as long as time can be.
  CHECK(run(exec(server, {"--at-most", "876000h", "job", "--", "true"})).status == 0);
  check_refused(server, {"--at-most", "876001h", "job", "--", "true"}, 64, "--at-most");
  CHECK(run(exec(server, {"--at-least", "876000h", "job", "--", "true"})).status == 0);
  CHECK(pttl(server) > 3'000'000'000'000LL);
}

TEST_CASE("exec: S1: an option's value that is empty takes no lock's name for it" *
          doctest::test_suite("S1")) {
  Server server;
  for (const std::string option : {"--note=", "--tls-ca=", "--restart-delay=", "--timeout=",
                                   "--wait=", "--at-most=", "--permits="}) {
    CAPTURE(option);
    const Result result =
        run(exec(server, {option, "1", "2", "--", "sh", "-c", "echo \"$RLOCK_NAME\""}));
    CAPTURE(result.err);
    if (result.status == 0) CHECK(result.out == "1\n2\n");
    if (result.status != 0) CHECK(result.status == 64);
    CHECK((result.status == 0) == (option == "--note=" || option == "--tls-ca="));
  }
  // In front of the command, too.
  const Result result = run(rlock_argv("--tls-ca=", "exec", "-r", server.unix_url(), "a", "b", "--",
                                       "sh", "-c", "echo \"$RLOCK_NAME\""));
  CHECK(result.out == "a\nb\n");
}

TEST_CASE("exec: a command that cannot be run leaves no lock") {
  Server server;
  const std::string plain = script(server, "plain", "#!/bin/sh\n", 0644);
  const std::string orphan = script(server, "orphan", "#!/no/such/interpreter\n", 0755);
  const auto check = [&](const std::string& command, int status, const std::string& why) {
    check_refused(server, {"job", "other", "--", command}, status, why);
    check_refused(server, {"--fair", "--at-least", "1h", "job", "--", command}, status, why);
    check_refused(server, {"--kind", "simple", "job", "--", command}, status, why);
  };
  check(server.directory(), 126, server.directory() + ": Permission denied");
  check("/", 126, "rlock: /: Permission denied");
  check(plain, 126, plain + ": Permission denied");
  check(plain + "/below", 126, "Not a directory");
  check(orphan, 127, orphan + ": its interpreter does not exist");
  check(server.directory() + "/none", 127, "No such file or directory");
  check("no-such-program", 127, "rlock: no-such-program: not found in PATH");
  Words pathless = rlock_argv("exec", "-r", server.unix_url(), "job", "--", "no-such-program");
  pathless.insert(pathless.begin(), {"env", "-u", "PATH"});
  CHECK(run(pathless).err == "rlock: no-such-program: not found; PATH is not set\n");
  check("", 127, "rlock: '': No such file or directory");
  check(std::string(5000, 'x'), 126, "File name too long");
}

TEST_CASE("exec: a line of shell may be empty, or say that there is no such command") {
  Server server;
  const Result empty = run(exec(server, {"-c", "", "job"}));
  CHECK(empty.status == 0);
  CHECK(empty.err.empty());
  CHECK(run(exec(server, {"-c", "/nonexistent", "job"})).status == 127);
  CHECK(run(exec(server, {"-c", "(", "job"})).status == 2);
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("exec: more names than a nested run could be told of are refused") {
  Server server;
  Words words;
  for (int i = 1000; i < 3000; ++i) words.push_back(std::to_string(i));
  words.insert(words.end(), {"--", "true"});
  check_refused(server, words, 64, "are too long for RLOCK_HELD");
}

TEST_CASE("exec: as long names as those of the outer run are refused, but not the same ones") {
  Server server;
  Words outer = exec(server, {});
  const Words inner = exec(server, {});
  // With owner and run, an entry has some 66 bytes more.
  for (int i = 10; i < 70; ++i) outer.push_back(std::string(1000 - 2, '0') + std::to_string(i));
  outer.insert(outer.end(), {"--", "sh", "-c",
                             "\"$@\" $(seq -f %01000.0f 10 69) -- echo the same; "
                             "\"$@\" $(seq -f %01000.0f 70 129) -- echo others; echo $?",
                             "sh"});
  outer.insert(outer.end(), inner.begin(), inner.end());
  const Result result = run(outer);
  CHECK(result.status == 0);
  CHECK(result.out == "the same\n64\n");
  CHECK(has(result.err, "are too long for RLOCK_HELD"));
}

TEST_CASE("exec: a RLOCK_HELD that is garbled is as if it were not there") {
  Server server;
  std::string noise;
  for (int i = 0; i < 100'000; ++i) noise += static_cast<char>(1 + (i * 7919 + i / 255) % 255);
  for (const std::string& held :
       Words{noise, std::string(131'000, ' '), std::string(131'000, '='),
             "job=" + std::string(100'000, 'x') + "/r", "job=" + k_foreign_owner,
             "job=" + k_foreign_owner + "/", "job=" + k_foreign_owner + "//r", "job=/r",
             "=" + k_foreign_owner + "/r", "job=%/r", "job=%4/r", "job=%zz/r", "%=x/r",
             "job=x/\x1b[2J", "job=x/\nRLOCK_TOKEN=9", "job=" + k_foreign_owner + "/r job",
             std::string("job job job= job=/ //// =/= /="), std::string("\xff\xfe\n\t\x1b")}) {
    CAPTURE(held.substr(0, 50));
    const Result result = run_with_held(server, held);
    CAPTURE(result.err);
    CHECK(result.status == 0);
    CHECK(result.err.empty());
    const std::string owner = result.out.substr(0, result.out.find('\n'));
    const std::string handed_on = result.out.substr(std::min(result.out.size(), owner.size() + 1));
    CHECK(owner != k_foreign_owner);
    CHECK(handed_on.starts_with("job=" + owner + "/"));
    CHECK(std::count(handed_on.begin(), handed_on.end(), ' ') == 0);
    CHECK(handed_on.size() < 100);
    CHECK(comes_to_be_empty(server));
  }
}

TEST_CASE("exec: a RLOCK_HELD with many entries that could be true still starts the command") {
  Server server;
  std::string held;
  while (held.size() < 119'000) held += "other" + std::to_string(held.size()) + "=o/r ";
  for (const std::size_t size : {std::size_t{119'990}, std::size_t{131'000}}) {
    held.resize(size, ' ');
    const Result result = run_with_held(server, held);
    CHECK(result.status == 0);
    CHECK(result.err.empty());
  }
}

TEST_CASE("exec: an owner in RLOCK_HELD who does not hold the lock gets nothing") {
  Server server;
  const std::string forged = "job=" + k_foreign_owner + "/0123456789abcdef";
  const Result free = run_with_held(server, forged);
  CHECK(free.status == 0);
  CHECK_FALSE(free.out.starts_with(k_foreign_owner));

  server.command({"HSET", "job", "another:1", "1"});
  CHECK(run_with_held(server, forged).status == 75);
  CHECK(server.command({"HGETALL", "job"}) == "another:1\n1");
  server.command({"DEL", "job"});
  server.command({"SET", "job", "another:1"});
  const Result simple = run(exec(server, {"-q", "-n", "--kind", "simple", "job", "--", "true"}),
                            {.env = {{"RLOCK_HELD", forged}}});
  CHECK(simple.status == 75);
  CHECK(server.keys() == Words{"job"});
}

TEST_CASE("exec: who knows the true owner takes part in his lock, and cannot end it") {
  Server server;
  server.command({"HSET", "job", k_foreign_owner, "1"});
  server.command({"PEXPIRE", "job", "600000"});
  const Result result = run_with_held(server, "job=" + k_foreign_owner + "/0123456789abcdef");
  CHECK(result.status == 0);
  CHECK(result.out.starts_with(k_foreign_owner));
  CHECK(server.command({"HGETALL", "job"}) == k_foreign_owner + "\n1");
  CHECK(pttl(server) > 500'000);
}
