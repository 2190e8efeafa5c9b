#include "cli/settings/config_file.hpp"

#include <fcntl.h>
#include <map>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "cli/settings/text_file.hpp"
#include "support/words.hpp"
#include "unit/scratch.hpp"

using namespace rlock;
using rlock::cli::read_config;
using rlock::test::Environment;
using rlock::test::Scratch;

namespace {

using Values = std::map<std::string, std::string>;
using rlock::test::has;

Values values(const cli::Config& config) {
  Values result;
  for (const auto& [name, setting] : config.settings) result[name] = setting.value;
  return result;
}

Values read(const std::string& text) {
  const Scratch scratch;
  return values(read_config(scratch.write("rlock.toml", text)));
}

std::string complaint_of(const std::string& path) {
  try {
    (void)read_config(path);
    return "";
  } catch (const Error& error) {
    CHECK(error.status() == ExitStatus::config);
    const std::string text = error.what();
    CHECK_FALSE(has(text, "\n"));
    return text;
  }
}

std::string complaint(const std::string& text) {
  const Scratch scratch;
  return complaint_of(scratch.write("rlock.toml", text));
}

}  // namespace

TEST_CASE("settings are the long names of global options") {
  const Values settings = read(
      "# a comment\n"
      "redis = \"redis://h:6380/1\"\n"
      "timeout = \"5s\"\n"
      "user = 'bob'\n"
      "password-file = \"/etc/rlock.password\"\n"
      "tls-ca = \"/etc/ca.pem\"\n"
      "tls-cert = \"/etc/client.pem\"\n"
      "tls-key = \"/etc/client.key\"\n"
      "color = \"never\"\n");
  CHECK(settings == Values{{"redis", "redis://h:6380/1"},
                           {"timeout", "5s"},
                           {"user", "bob"},
                           {"password-file", "/etc/rlock.password"},
                           {"tls-ca", "/etc/ca.pem"},
                           {"tls-cert", "/etc/client.pem"},
                           {"tls-key", "/etc/client.key"},
                           {"color", "never"}});
}

TEST_CASE("an empty file has no settings") {
  CHECK(read("").empty());
  CHECK(read("\n# nothing\n\n").empty());
}

TEST_CASE("a list of servers becomes words") {
  CHECK(read("redis = [\"redis://a\", \"redis://b\"]\n").at("redis") == "redis://a redis://b");
}

TEST_CASE("a list may have several lines, and values what means something outside of quotes") {
  CHECK(
      read("redis = [ # three\n  \"redis://a\",\n  'redis://b',  # the second\n]\n").at("redis") ==
      "redis://a redis://b");
  CHECK(read("redis = \"redis-sentinel://a,b:1#main\" # x\r\n").at("redis") ==
        "redis-sentinel://a,b:1#main");
  CHECK(read("redis = ' redis://a\tredis://b '").at("redis") == " redis://a\tredis://b ");
  CHECK(read("\"user\" = \"\\\"\\u00e9\\u007f\\u20AC\\U0001F512\\t\\\\\"").at("user") ==
        "\"\xc3\xa9\x7f\xe2\x82\xac\xf0\x9f\x94\x92\t\\");
  CHECK(read("user = 'C:\\n'").at("user") == "C:\\n");
  CHECK(read("\xEF\xBB\xBFuser=\"\"").at("user").empty());
  CHECK(read("timeout = 1.5").at("timeout") == "1.5");
}

TEST_CASE("unknown settings are refused by their name, with what may have been meant") {
  CHECK(has(complaint("\nretries = 3\n"), "line 2: unknown setting 'retries'; there are redis, "));
  CHECK(has(complaint("timout = \"3s\"\n"), "'timout'; did you mean 'timeout'?"));
  CHECK(has(complaint("password_file = \"x\"\n"), "did you mean 'password-file'?"));
  CHECK(has(complaint("Redis = \"x\"\n"), "did you mean 'redis'?"));
  CHECK(has(complaint("password = \"x\"\n"), "unknown setting 'password'"));
  CHECK(has(complaint("tls.ca = \"x\"\n"), "did you mean 'tls-ca'?"));
  CHECK(has(complaint("[server]\nredis = \"redis://h\"\n"), "line 1: tables are not supported"));
  CHECK(has(complaint("[[redis]]\n"), "line 1: tables are not supported"));
  CHECK(has(complaint("user = \"a\"\ntimeout = \"1s\"\nuser = \"a\"\n"),
            "line 3: 'user' is set a second time, after line 1"));
}

TEST_CASE("a value of the wrong type is refused, with the type that is right") {
  for (const auto& [text, found] : std::map<std::string, std::string>{
           {"timeout = [1,2]",
            "timeout: expected text in quotes, or a number of seconds, not a list"},
           {"timeout = ['1s']", "not a list"},
           {"timeout = true", "not a boolean"},
           {"timeout = 1979-05-27", "not another number or a date"},
           {"timeout = -3", "not another number or a date"},
           {"redis = true",
            "redis: expected text in quotes, or a list of such texts, not a boolean"},
           {"redis = 6379", "not a number"},
           {"redis = ['redis://a', 5]", "not a list of other things"},
           {"redis = { url = 'redis://a' }", "not a table"},
           {"redis = [['redis://a']]", "a list can only have texts"},
           {"user = 5", "user: expected text in quotes, not a number"},
           {"user = ['a']", "not a list"},
           {"password-file = 1.5", "not a number"},
           {"color = false", "not a boolean"}}) {
    CAPTURE(text);
    CHECK(has(complaint(text), "line 1: "));
    CHECK(has(complaint(text), found));
  }
}

TEST_CASE("what is no TOML is refused with its line") {
  for (const char* text : {"\nredis = redis://h",
                           "\nredis",
                           "\nredis =",
                           "\n= 5",
                           "\nuser = \"a",
                           "\nuser = 'a",
                           "\nuser = \"a\" b",
                           "\nuser = \"a\" user = \"b\"",
                           "\nuser = \"\\x\"",
                           "\nuser = \"\\u12\"",
                           "\nuser = \"\\uD800\"",
                           "\nuser = \"\\uDFFF\"",
                           "\nuser = \"\\U00110000\"",
                           "\nuser = \"\\u0000\"",
                           "\nredis = ['a' 'b']",
                           "\nredis = ['a'",
                           "\nredis = [,]",
                           "\nredis = [",
                           "\nuser.",
                           "\nuser = \"\"\"a\"\"\"",
                           "\nuser = \"\x01\"",
                           "\nuser = \"\xff\"",
                           "\n\x7f"
                           "ELF\x02",
                           "\n\"",
                           "\nuser = \"\\",
                           "\nuser = \"\\U1234567g\""}) {
    CAPTURE(text);
    CHECK(has(complaint(text), "rlock.toml: line 2: "));
  }
  CHECK(has(complaint(std::string("user = \"a\0b\"", 12)), "line 1: is not UTF-8 text"));
}

TEST_CASE("a complaint names the file and never shows what a terminal would obey") {
  const std::string text = complaint("\"\x1b[2J\" = 1\n");
  CHECK(has(text, "rlock.toml: "));
  CHECK_FALSE(has(text, "\x1b"));
}

TEST_CASE("a file that was named must be there") {
  const Scratch scratch;
  try {
    (void)read_config(scratch.path("missing.toml"));
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.status() == ExitStatus::config);
    CHECK(std::string(error.what()) == scratch.path("missing.toml") + ": there is no such file");
  }
}

TEST_CASE("what is no file, or too large for one, is refused at once") {
  const Scratch scratch;
  CHECK(has(complaint_of(scratch.path()), "is a directory"));
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  ::close(ends[1]);
  CHECK(has(complaint_of("/dev/fd/" + std::to_string(ends[0])), "nothing came out of the pipe"));
  ::close(ends[0]);
  CHECK(has(complaint_of("/dev/zero"), "is larger than 1 MiB"));
  CHECK(has(complaint_of(scratch.write("huge.toml", std::string(1024 * 1024 + 1, '#'))),
            "is larger than 1 MiB"));
  CHECK(complaint_of("/dev/null").empty());
}

TEST_CASE("many settings are refused as fast as one") {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "k" + std::to_string(i) + "=1\n";
  CHECK(has(complaint(text), "line 1: unknown setting"));
}

TEST_CASE("a pipe is read until its writer has closed it, but not forever") {
  const Scratch scratch;
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const std::string path = "/dev/fd/" + std::to_string(ends[0]);
  try {
    (void)cli::read_text_file(path, cli::Extent::all, Milliseconds(20));
    FAIL("waited forever");
  } catch (const Error& error) {
    CHECK(error.status() == ExitStatus::config);
  }
  REQUIRE(::write(ends[1], "user = 'a'\nx", 12) == 12);
  // The writer is still there.
  CHECK(cli::read_text_file(path, cli::Extent::first_line)->text == "user = 'a'\nx");
  std::thread writer([&] {
    CHECK(::write(ends[1], "user = 'b'\n", 11) == 11);
    ::close(ends[1]);
  });
  CHECK(values(read_config(path)) == Values{{"user", "b"}});
  writer.join();
  ::close(ends[0]);
}

TEST_CASE("a named pipe is read when its writer comes later, but not waited for forever") {
  const Scratch scratch;
  const std::string path = scratch.path("pipe");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK_THROWS_AS((void)cli::read_text_file(path, cli::Extent::all, Milliseconds(20)), Error);
  std::thread writer([&] {
    int pipe = -1;
    while (pipe < 0) {  // until somebody reads
      ::usleep(1000);
      pipe = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    }
    CHECK(::write(pipe, "user = 'b'\n", 11) == 11);
    ::close(pipe);
  });
  CHECK(values(read_config(path)) == Values{{"user", "b"}});
  writer.join();
}

TEST_CASE("a password in a file that everybody can read is refused, with the remedy") {
  const Scratch scratch;
  const std::string path = scratch.write("rlock.toml", "redis = \"redis://u:pw@h\"\n");
  for (const mode_t mode : {0600, 0400, 0640}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    CHECK(complaint_of(path).empty());
  }
  for (const mode_t mode : {0644, 0604, 0606, 0602, 0666}) {
    CAPTURE(mode);
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    CHECK(has(complaint_of(path), ": chmod 600 " + path));
    CHECK_FALSE(has(complaint_of(path), "pw"));
  }
  for (const char* harmless : {"redis = \"redis://u@h\"", "redis = \"redis://h\"", "user = 'u'"}) {
    scratch.write("rlock.toml", harmless);
    REQUIRE(::chmod(path.c_str(), 0644) == 0);
    CHECK(complaint_of(path).empty());
  }
  // One of several servers, and a URL that makes no sense.
  for (const char* secret : {"redis = ['redis://h', 'rediss://:pw@i']", "redis = 'reds://:pw@h'"}) {
    scratch.write("rlock.toml", secret);
    REQUIRE(::chmod(path.c_str(), 0644) == 0);
    CHECK(has(complaint_of(path), "chmod 600"));
  }
}

TEST_CASE("a password, or a server, in a file of another user is refused, unless that is root") {
  if (::geteuid() != 0) return;  // nobody else can give files away
  const Scratch scratch;
  const std::string path = scratch.write("rlock.toml", "redis = \"redis://u:pw@h\"\n");
  REQUIRE(::chown(path.c_str(), 12345, 0) == 0);
  CHECK(has(complaint_of(path), "holds a password, and belongs to another user"));
  scratch.write("rlock.toml", "redis = \"redis://h\"\n");
  CHECK(has(complaint_of(path), "names a server, and belongs to another user"));
  scratch.write("rlock.toml", "timeout = 5\n");
  CHECK(complaint_of(path).empty());
}

TEST_CASE("the user's file is found in XDG_CONFIG_HOME, else in HOME") {
  const Scratch scratch;
  Environment environment;
  scratch.write("rlock.toml", "user = \"xdg\"\n");
  environment.set("XDG_CONFIG_HOME", scratch.path());
  environment.set("HOME", std::nullopt);
  CHECK(values(read_config(std::nullopt)).at("user") == "xdg");

  std::filesystem::create_directory(scratch.path(".config"));
  scratch.write(".config/rlock.toml", "user = \"home\"\n");
  environment.set("XDG_CONFIG_HOME", "");
  environment.set("HOME", scratch.path());
  CHECK(values(read_config(std::nullopt)).at("user") == "home");
}

TEST_CASE("files that nobody named may be missing") {
  const Scratch scratch;
  Environment environment;
  environment.set("XDG_CONFIG_HOME", scratch.path());
  CHECK_NOTHROW((void)read_config(std::nullopt));
  environment.set("XDG_CONFIG_HOME", std::nullopt);
  environment.set("HOME", std::nullopt);
  CHECK_NOTHROW((void)read_config(std::nullopt));
}
