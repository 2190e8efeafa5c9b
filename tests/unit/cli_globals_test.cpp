#include <string>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "cli/globals.hpp"
#include "unit/scratch.hpp"

using namespace rlock;
using rlock::cli::Globals;
using rlock::test::Environment;
using rlock::test::Scratch;

namespace {

// Nothing of the machine's settings: an empty configuration file, and no variable.
struct Clean {
  Clean() {
    globals.config = scratch.write("rlock.toml", "");
    for (const char* name : {"RLOCK_REDIS", "RLOCK_USER", "RLOCK_PASSWORD", "REDISCLI_AUTH",
                             "RLOCK_TIMEOUT", "RLOCK_CONFIG"}) {
      environment.set(name, std::nullopt);
    }
  }

  void configure(const std::string& text) const { scratch.write("rlock.toml", text); }
  [[nodiscard]] redis::Endpoint endpoint() const { return globals.client_options().endpoint; }

  [[nodiscard]] std::string complaint(ExitStatus status) const {
    try {
      (void)globals.client_options();
      return "";
    } catch (const Error& error) {
      CHECK(error.status() == status);
      return error.what();
    }
  }

  Scratch scratch;
  Environment environment;
  Globals globals;
};

}  // namespace

TEST_CASE("by default it is the server of this machine") {
  const Clean clean;
  const auto options = clean.globals.client_options();
  CHECK(options.endpoint.display() == "redis://127.0.0.1:6379");
  CHECK(options.timeout == Milliseconds(3000));
  CHECK(options.endpoint.credentials.password.empty());
  CHECK(options.name.find("rlock:") == 0);
}

TEST_CASE("flags beat the environment, which beats the file") {
  Clean clean;
  clean.configure("redis = \"redis://file\"\ntimeout = \"1s\"\nuser = \"file\"\n");
  CHECK(clean.endpoint().host == "file");
  CHECK(clean.globals.client_options().timeout == Milliseconds(1000));
  CHECK(clean.endpoint().credentials.user == "file");

  clean.environment.set("RLOCK_REDIS", "  redis://environment\n");
  clean.environment.set("RLOCK_TIMEOUT", "2s");
  clean.environment.set("RLOCK_USER", "environment");
  CHECK(clean.endpoint().host == "environment");
  CHECK(clean.globals.client_options().timeout == Milliseconds(2000));
  CHECK(clean.endpoint().credentials.user == "environment");

  clean.globals.redis = {"redis://flag"};
  clean.globals.timeout = "4s";
  clean.globals.user = "flag";
  CHECK(clean.endpoint().host == "flag");
  CHECK(clean.globals.client_options().timeout == Milliseconds(4000));
  CHECK(clean.endpoint().credentials.user == "flag");
}

TEST_CASE("an empty variable counts as none") {
  Clean clean;
  clean.environment.set("RLOCK_REDIS", "");
  CHECK(clean.endpoint().host == "127.0.0.1");
}

TEST_CASE("a password comes from the URL, else a file, RLOCK_PASSWORD, REDISCLI_AUTH") {
  Clean clean;
  clean.configure("password-file = \"" + clean.scratch.write("configured", "p0\n") + "\"\n");
  CHECK(clean.endpoint().credentials.password == "p0");
  clean.environment.set("REDISCLI_AUTH", "p1");
  CHECK(clean.endpoint().credentials.password == "p1");
  clean.environment.set("RLOCK_PASSWORD", "p2");
  CHECK(clean.endpoint().credentials.password == "p2");
  clean.globals.password_file = clean.scratch.write("password", "p3\r\nsecond line\n");
  CHECK(clean.endpoint().credentials.password == "p3");
  clean.globals.redis = {"redis://:p4@h"};
  CHECK(clean.endpoint().credentials.password == "p4");
}

TEST_CASE("a password file that cannot be read is a matter of configuration") {
  Clean clean;
  clean.globals.password_file = clean.scratch.path("missing");
  CHECK(clean.complaint(ExitStatus::config).find("cannot read a password") != std::string::npos);
  clean.globals.password_file = clean.scratch.write("empty", "");
  CHECK_FALSE(clean.complaint(ExitStatus::config).empty());
}

TEST_CASE("more than one server, and none, are refused") {
  Clean clean;
  clean.globals.redis = {"redis://a", "redis://b"};
  CHECK(clean.complaint(ExitStatus::usage).find("--redis") == 0);
  clean.globals.redis.clear();
  clean.environment.set("RLOCK_REDIS", "redis://a redis://b");
  CHECK(clean.complaint(ExitStatus::usage).find("--redis") == 0);
  clean.environment.set("RLOCK_REDIS", "  ");
  CHECK_FALSE(clean.complaint(ExitStatus::usage).empty());
}

TEST_CASE("a timeout is longer than nothing") {
  Clean clean;
  for (const char* timeout : {"0", "0ms", "x", "", "-1s"}) {
    CAPTURE(timeout);
    clean.globals.timeout = timeout;
    CHECK(clean.complaint(ExitStatus::usage).find("--timeout: ") == 0);
  }
}
