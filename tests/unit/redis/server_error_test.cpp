#include "redis/server_error.hpp"

#include <string>

#include <doctest/doctest.h>

#include "support/words.hpp"

using namespace rlock;
using namespace rlock::redis;
using test::has;

namespace {

void check_status(ExitStatus status, std::initializer_list<const char*> texts) {
  for (const char* text : texts) {
    CAPTURE(text);
    CHECK(ServerError("redis://a", text).status() == status);
  }
}

}  // namespace

TEST_CASE("a server that cannot serve now is unavailable") {
  check_status(
      ExitStatus::unavailable,
      {"LOADING Redis is loading the dataset in memory",
       "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
       "READONLY You can't write against a read only replica.",
       "OOM command not allowed when used memory > 'maxmemory'.",
       "OOM command not allowed when used memory > 'maxmemory'. script: 434c, on @user_script:1.",
       "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist",
       "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
       "NOREPLICAS Not enough good replicas to write.", "CLUSTERDOWN The cluster is down",
       "TRYAGAIN Multiple keys request during rehashing of slot",
       "ERR max number of clients reached",
       "ERR Error running script (call to f_1234): @user_script:7: @user_script: 7: "
       "-OOM command not allowed when used memory > 'maxmemory'.",
       "ERR Error running script (call to f_1234): @user_script:7: @user_script: 7: "
       "-READONLY You can't write against a read only replica.",
       "@user_script: 1: -READONLY You can't write against a read only replica."});
}

TEST_CASE("a server error has its code wherever a script puts it") {
  for (const char* text :
       {"READONLY You can't write", "@user_script: 1: -READONLY You can't write",
        "ERR Error running script (call to f_1): @user_script:7: @user_script: 7: -READONLY You"}) {
    CAPTURE(text);
    CHECK(ServerError("redis://a", text).code() == "READONLY");
    CHECK(is_error(text, "READONLY"));
    CHECK_FALSE(is_error(text, "LOADING"));
  }
}

TEST_CASE("a server that does not let us is a matter of permission") {
  check_status(
      ExitStatus::permission,
      {"NOAUTH Authentication required.",
       "WRONGPASS invalid username-password pair or user is disabled.",
       "NOPERM this user has no permissions to run the 'evalsha' command",
       "DENIED Redis is running in protected mode because protected mode is enabled",
       "ERR invalid password",
       "ERR AUTH <password> called without any password configured for the default user.",
       "ERR Client sent AUTH, but no password is set",
       "ERR The user executing the script can't run this command or subcommand script: 5609, on "
       "@user_script:1.",
       "ERR ACL failure in script: User bob has no permissions to run the 'hset' command script: "
       "5609, on @user_script:1.",
       "ERR Error running script (call to f_1234): @user_script:1: @user_script: 1: The user "
       "executing the script can't run this command or subcommand"});
}

TEST_CASE("the wrong server for this lock is a matter of configuration") {
  check_status(ExitStatus::config,
               {"MOVED 3999 127.0.0.1:6381", "ASK 3999 127.0.0.1:6381",
                "CROSSSLOT Keys in request don't hash to the same slot",
                "ERR DB index is out of range", "ERR SELECT is not allowed in cluster mode"});
}

TEST_CASE("every other error makes no sense to us") {
  check_status(ExitStatus::wrong_kind,
               {"WRONGTYPE Operation against a key holding the wrong kind of value",
                "ERR unknown command 'EVALSHA'", "NOSCRIPT No matching script.", "ERR syntax error",
                "ERR Error running script (call to f_1234): @user_script:1: attempt to index a nil",
                "", " ", "loading"});
}

TEST_CASE("a server error says which server, what to do, and what it said") {
  const ServerError error("unix:///s", "LOADING Redis is loading");
  CHECK(std::string(error.what()) ==
        "unix:///s: the server is still reading its data: try again; "
        "the server says: LOADING Redis is loading");
  CHECK(error.code() == "LOADING");
  CHECK(error.status() == ExitStatus::unavailable);
  CHECK(error.is_temporary());
  CHECK_FALSE(ServerError("s", "NOAUTH Authentication required.").is_temporary());
  CHECK(ServerError("s", "ODD").code() == "ODD");
  CHECK(ServerError("s", "").code().empty());
}

TEST_CASE("the server's words cannot move the cursor") {
  const ServerError error("s", "ERR \x1b[2J\nrlock: all is well");
  CHECK(std::string(error.what()) ==
        "s: the server refuses a request; the server says: ERR \\x1b[2J\\nrlock: all is well");
}

TEST_CASE("a server error names no script and no line of one") {
  for (const char* text :
       {"OOM no memory script: 434c, on @user_script:1.",
        "ERR Error running script (call to f_1234): @user_script:7: @user_script: 7: "
        "-OOM no memory",
        "ERR Error running script (call to f_1234): @user_script:7: OOM no memory",
        "ERR user_script:3: OOM no memory script: 5609, on @user_script:3."}) {
    CAPTURE(text);
    const std::string message = ServerError("s", text).what();
    CHECK(message.ends_with("; the server says: OOM no memory"));
  }
}

TEST_CASE("a server error names the right that is missing") {
  const auto told = [](const char* text) { return std::string(ServerError("s", text).what()); };
  CHECK(has(told("NOPERM User bob has no permissions to run the 'evalsha' command"),
            "not allowed to run evalsha"));
  CHECK(has(told("ERR ACL failure in script: User bob has no permissions to run the 'hset' command "
                 "script: 5609, on @user_script:1."),
            "not allowed to run hset"));
  CHECK(has(told("NOPERM this user has no permissions to access one of the keys used as arguments"),
            "not allowed to use a key"));
  CHECK(has(told("NOPERM No permissions to access a key"), "not allowed to use a key"));
  CHECK(has(told("NOPERM No permissions to access a channel"), "on a channel"));
  const ServerError unnamed("s", "ERR The user executing the script can't run this command");
  CHECK(unnamed.lacks_unnamed_right());
  CHECK_FALSE(ServerError("s", "NOPERM No permissions to access a key").lacks_unnamed_right());
}
