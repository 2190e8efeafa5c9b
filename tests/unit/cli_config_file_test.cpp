#include <string>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "cli/config_file.hpp"
#include "unit/scratch.hpp"

using namespace rlock;
using rlock::cli::read_config;
using rlock::cli::Settings;
using rlock::test::Environment;
using rlock::test::Scratch;

namespace {

Settings read(const std::string& text) {
  const Scratch scratch;
  return read_config(scratch.write("rlock.toml", text));
}

std::string complaint(const std::string& text) {
  try {
    read(text);
    return "";
  } catch (const Error& error) {
    CHECK(error.status() == ExitStatus::config);
    return error.what();
  }
}

}  // namespace

TEST_CASE("settings are the long names of global options") {
  const Settings settings = read(
      "# a comment\n"
      "redis = \"redis://h:6380/1\"\n"
      "timeout = \"5s\"\n"
      "user = 'bob'\n"
      "password-file = \"/etc/rlock.password\"\n"
      "color = \"never\"\n");
  CHECK(settings == Settings{{"redis", "redis://h:6380/1"},
                             {"timeout", "5s"},
                             {"user", "bob"},
                             {"password-file", "/etc/rlock.password"},
                             {"color", "never"}});
}

TEST_CASE("an empty file has no settings") {
  CHECK(read("").empty());
  CHECK(read("\n# nothing\n\n").empty());
}

TEST_CASE("a list of servers becomes words") {
  CHECK(read("redis = [\"redis://a\", \"redis://b\"]\n").at("redis") == "redis://a redis://b");
}

TEST_CASE("unknown settings and sections are refused by their name") {
  CHECK(complaint("retries = 3\n").find("unknown setting 'retries'") != std::string::npos);
  CHECK_FALSE(complaint("[server]\nredis = \"redis://h\"\n").empty());
  CHECK_FALSE(complaint("password = \"x\"\n").empty());
}

TEST_CASE("a complaint names the file and never shows what a terminal would obey") {
  const std::string text = complaint("\"\x1b[2J\" = 1\n");
  CHECK(text.find("rlock.toml: ") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("a file that was named must be there") {
  const Scratch scratch;
  try {
    (void)read_config(scratch.path("missing.toml"));
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.status() == ExitStatus::config);
    CHECK(std::string(error.what()) == scratch.path("missing.toml") + ": cannot be read");
  }
}

TEST_CASE("a directory is no file") {
  const Scratch scratch;
  CHECK_THROWS_AS((void)read_config(scratch.path()), Error);
}

TEST_CASE("the user's file is found in XDG_CONFIG_HOME, else in HOME") {
  const Scratch scratch;
  Environment environment;
  scratch.write("rlock.toml", "user = \"xdg\"\n");
  environment.set("XDG_CONFIG_HOME", scratch.path());
  environment.set("HOME", std::nullopt);
  CHECK(read_config(std::nullopt).at("user") == "xdg");

  std::filesystem::create_directory(scratch.path(".config"));
  scratch.write(".config/rlock.toml", "user = \"home\"\n");
  environment.set("XDG_CONFIG_HOME", "");
  environment.set("HOME", scratch.path());
  CHECK(read_config(std::nullopt).at("user") == "home");
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
