// What a user can type wrong: status 64, one line that says what is wrong, and nothing happens.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/process.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

void check_usage(const Server& server, const Words& words, std::string_view part = "") {
  Words argv = rlock_argv(words);
  const Result result = run(argv, {.env = {{"RLOCK_REDIS", server.unix_url()}}});
  std::string typed;
  for (const std::string& word : words) typed += word + " ";
  CAPTURE(typed);
  CAPTURE(result.err);
  CHECK(result.status == 64);
  CHECK(result.out.empty());
  CHECK(result.err.starts_with("rlock: "));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK(has(result.err, part));
}

}  // namespace

TEST_CASE("a wrong command line is told by status 64 and one line") {
  Server server;
  for (const Words& words : {
           Words{"nonsense"},
           Words{"--nonsense"},
           Words{"exec"},
           Words{"exec", "job"},
           Words{"exec", "job", "true"},
           Words{"exec", "job", "--"},
           Words{"exec", "--", "true"},
           Words{"exec", "-c", "true"},
           Words{"exec", "-c", "true", "job", "--", "true"},
           Words{"exec", "--nonsense", "job", "--", "true"},
           Words{"exec", "--kind", "nonsense", "job", "--", "true"},
           Words{"exec", "--on-lost", "nonsense", "job", "--", "true"},
           Words{"exec", "--kill-after", "11s", "job", "--", "true"},
           Words{"acquire", "--no-watchdog"},
           Words{"acquire", "--no-watchdog", "a", "b"},
           Words{"renew", "job"},
           Words{"renew", "--owner", "x"},
           Words{"inspect-queue"},
           Words{"inspect-queue", "a", "b"},
           Words{"watch"},
           Words{"list", "a", "b"},
           Words{"list", "--simple"},
           Words{"--timeout"},
           Words{"exec", "-w"},
       }) {
    check_usage(server, words);
  }
  CHECK(server.keys().empty());
}

TEST_CASE("a wrong duration is told by status 64 and named") {
  Server server;
  for (const char* text : {" ", "x", "-1", "1y", "1e9", "1 s", "s", "1s1", "++1", "0x10", "nan",
                           "inf", "99999999999999999999999", "1,5s"}) {
    CAPTURE(text);
    const std::string value = text;
    check_usage(server, {"exec", "--wait=" + value, "job", "--", "true"}, "--wait");
    check_usage(server, {"exec", "--lease=" + value, "job", "--", "true"}, "--lease");
    check_usage(server, {"exec", "--at-most=" + value, "job", "--", "true"}, "--at-most");
    check_usage(server, {"--timeout=" + value, "inspect-queue", "job"}, "--timeout");
  }
  check_usage(server, {"--timeout", "0", "inspect-queue", "job"}, "--timeout");
  check_usage(server, {"exec", "--lease", "99ms", "job", "--", "true"}, "--lease");
  check_usage(server, {"exec", "--lease", "9999h", "job", "--", "true"}, "--lease");
  CHECK(server.keys().empty());
}

TEST_CASE("a wrong exit status is told by status 64") {
  Server server;
  for (const char* text : {"-1", "256", "x", "1x", "0x1", "1.0", "99999999999"}) {
    check_usage(server, {"exec", std::string("--conflict-exit-code=") + text, "job", "--", "true"},
                "-E");
  }
}

TEST_CASE("a wrong URL is told by status 64") {
  Server server;
  for (const char* url :
       {"localhost",      "localhost:6379",     "redis:",          "redis://",
        "redis://:6379",  "redis://h:0",        "redis://h:65536", "redis://h:x",
        "redis://h:+1",   "redis://h/x",        "redis://h/-1",    "redis://h/1/2",
        "redis://h?db=1", "redis://h#x",        "redis://[::1",    "redis://[::1]x",
        "redis://::1",    "redis://%zz",        "redis://h%00x",   "unix:",
        "unix://",        "unix://relative",    "unix:///s?x=1",   "unix:///s?db=x",
        "local:relative", "redis-sentinel://h", "\x1b[2J\n",       ""}) {
    CAPTURE(url);
    if (*url == '\0') continue;  // CLI and environment take an empty value for none
    check_usage(server, {"-r", url, "inspect-queue", "job"});
  }
}

TEST_CASE("what is no password of a URL is told in full: how a URL looks, and a lock's name") {
  const Result wrong = run(rlock_argv("-r", "foo://a", "config"));
  CHECK(wrong.status == 64);
  CHECK(has(wrong.err, "redis://[user[:password]@]host[:port][/db], "));
  CHECK(has(wrong.err, "redis-cluster://[user[:password]@]host"));
  Server server;
  server.command({"SET", "build://me@host", "x"});
  const Result refused =
      run(rlock_argv("-r", server.unix_url(), "exec", "-n", "build://me@host", "--", "true"));
  CHECK(refused.status == 76);
  CHECK(has(refused.err, "build://me@host: "));
}

TEST_CASE("words of the user that are repeated in a message are harmless") {
  Server server;
  for (const Words& words :
       {Words{"\x1b[2J\n"}, Words{"--\x1b[2J"}, Words{"exec", "--kind", "\x1b[2J", "j"},
        Words{"exec", "-w", "\x1b[2J\nx", "j", "--", "true"},
        Words{"exec", "-E", "\x1b\xff", "j", "--", "true"},
        Words{"exec", "\x1b", "job", "true\n"}}) {
    Words argv = rlock_argv("-r", server.unix_url(), words);
    const Result result = run(argv);
    CAPTURE(result.err);
    CHECK(result.status == 64);
    CHECK_FALSE(has(result.err, "\x1b"));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  }
  // An address that nobody answers at is repeated as well.
  for (const char* url :
       {"redis://ho%0ast%1b:1", "unix:///tmp/no%0a%1b[2Jsuch", "local:/tmp/no%0a%1b/such"}) {
    const Result result = run(rlock_argv("-r", url, "inspect-queue", "job"));
    CAPTURE(result.err);
    CHECK(result.status != 0);
    CHECK_FALSE(has(result.err, "\x1b"));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  }
}

TEST_CASE("help and version go to stdout, with status 0") {
  for (const Words& words :
       {Words{"--help"}, Words{"-h"}, Words{"exec", "--help"}, Words{"acquire", "-h"},
        Words{"renew", "-h"}, Words{"unlock", "-h"}, Words{"inspect-queue", "-h"},
        Words{"list", "-h"}, Words{"watch", "-h"}, Words{"--version"}, Words{"-V"}}) {
    Words argv = rlock_argv(words);
    const Result result = run(argv);
    CAPTURE(words[0]);
    CHECK(result.status == 0);
    CHECK(result.err.empty());
    CHECK(has(result.out, "rlock"));
  }
}

TEST_CASE("a full disk behind stdout is told") {
  Server server;
  const Result result = run({"sh", "-c", "exec \"$0\" \"$@\" > /dev/full", rlock_program(), "-r",
                             server.unix_url(), "inspect-queue", "job"});
  CHECK(result.status != 0);
  CAPTURE(result.err);
  CHECK(result.err.starts_with("rlock: stdout: "));
}
