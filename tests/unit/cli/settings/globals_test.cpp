#include "cli/settings/globals.hpp"

#include <memory>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "support/words.hpp"
#include "unit/scratch.hpp"

using namespace rlock;
using rlock::cli::Globals;
using rlock::test::Environment;
using rlock::test::Scratch;
using test::has;

namespace {

// Nothing of the machine's settings: an empty configuration file, and no variable.
struct Clean {
  Clean() {
    globals.quiet = true;
    globals.config = scratch.write("rlock.toml", "");
    for (const char* name :
         {"RLOCK_REDIS", "RLOCK_USER", "RLOCK_PASSWORD", "REDISCLI_AUTH", "RLOCK_TIMEOUT",
          "RLOCK_CONFIG", "NO_COLOR", "RLOCK_TLS_CA", "RLOCK_TLS_CERT", "RLOCK_TLS_KEY"}) {
      environment.set(name, std::nullopt);
    }
  }

  void configure(const std::string& text) const { scratch.write("rlock.toml", text); }
  // As for a command that has just been started: settings are read once.
  [[nodiscard]] redis::ClientOptions options() const {
    Globals fresh = globals;
    fresh.known = std::make_shared<Globals::Known>();
    return fresh.client_options("list");
  }
  [[nodiscard]] redis::Endpoint endpoint() const { return options().endpoint; }

  [[nodiscard]] std::string complaint(ExitStatus status) const {
    try {
      (void)options();
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
  const auto options = clean.options();
  CHECK(options.endpoint.display() == "redis://127.0.0.1:6379");
  CHECK(options.timeout == Milliseconds(3000));
  CHECK(options.endpoint.credentials.password.empty());
  CHECK(options.name.find("rlock:") == 0);
}

TEST_CASE("flags beat the environment, which beats the file") {
  Clean clean;
  clean.configure("redis = \"redis://file\"\ntimeout = \"1s\"\nuser = \"file\"\n");
  CHECK(clean.endpoint().host == "file");
  CHECK(clean.options().timeout == Milliseconds(1000));
  CHECK(clean.endpoint().credentials.user == "file");

  clean.environment.set("RLOCK_REDIS", "  redis://environment\n");
  clean.environment.set("RLOCK_TIMEOUT", "2s");
  clean.environment.set("RLOCK_USER", "environment");
  CHECK(clean.endpoint().host == "environment");
  CHECK(clean.options().timeout == Milliseconds(2000));
  CHECK(clean.endpoint().credentials.user == "environment");

  clean.globals.redis = {"redis://flag"};
  clean.globals.timeout = "4s";
  clean.globals.user = "flag";
  CHECK(clean.endpoint().host == "flag");
  CHECK(clean.options().timeout == Milliseconds(4000));
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
  CHECK(has(clean.complaint(ExitStatus::config), "there is no such file"));
  for (const char* text : {"", "\n", "\r\n", "\npassword\n"}) {
    clean.globals.password_file = clean.scratch.write("empty", text);
    CHECK(clean.complaint(ExitStatus::config).ends_with("has no password in its first line"));
  }
}

TEST_CASE("a password file that everybody can read, or another's, is refused, with the remedy") {
  Clean clean;
  const std::string path = clean.scratch.write("password", "secret\n");
  clean.globals.password_file = path;
  for (const mode_t mode : {0600, 0400, 0640}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    CHECK(clean.endpoint().credentials.password == "secret");
  }
  for (const mode_t mode : {0644, 0602}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    CHECK(has(clean.complaint(ExitStatus::config), "chmod 600 " + path));
  }
  clean.globals.password_file.reset();
  clean.configure("password-file = '" + path + "'");
  CHECK(has(clean.complaint(ExitStatus::config), "chmod 600 "));
  clean.environment.set("RLOCK_PASSWORD", "other");  // the file is not used then
  CHECK(clean.endpoint().credentials.password == "other");
  clean.environment.set("RLOCK_PASSWORD", std::nullopt);
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  if (::geteuid() == 0) {
    REQUIRE(::chown(path.c_str(), 12345, 0) == 0);
    CHECK(has(clean.complaint(ExitStatus::config), "another user"));
  }
}

TEST_CASE("a bad value is told with where it comes from, and in a file it is one of status 78") {
  Clean clean;
  clean.configure("timeout = 'soon'");
  CHECK(clean.complaint(ExitStatus::config) == *clean.globals.config +
                                                   ": line 1: timeout: 'soon' is not a duration; "
                                                   "expected 500ms, 30s, 5m, 1h30m, 1d or 1.5s");
  clean.environment.set("RLOCK_TIMEOUT", "late");
  CHECK(clean.complaint(ExitStatus::usage).find("RLOCK_TIMEOUT: 'late' is no") == 0);
  clean.environment.set("RLOCK_TIMEOUT", std::nullopt);
  for (const char* text :
       {"redis = 'http://h'", "redis = ''", "redis = []", "redis = ['redis://a', 'redis://a']"}) {
    CAPTURE(text);
    clean.configure(text);
    CHECK(clean.complaint(ExitStatus::config).find(*clean.globals.config + ": line 1: redis: ") ==
          0);
  }
  clean.configure("color = 'sometimes'");
  CHECK(has(clean.complaint(ExitStatus::config), ": color: 'sometimes' is not one of"));
  clean.environment.set("NO_COLOR", "1");
  CHECK(clean.complaint(ExitStatus::config).empty());
  clean.environment.set("RLOCK_REDIS", "http://h");
  CHECK(clean.complaint(ExitStatus::usage).find("RLOCK_REDIS: bad server URL") == 0);
  clean.globals.redis = {"redis://a", ""};  // of an unset variable: never one server fewer
  CHECK(clean.complaint(ExitStatus::usage).find("--redis: bad server URL") == 0);
  clean.globals.redis = {"redis://a"};
  clean.globals.password_file = "";
  CHECK(clean.complaint(ExitStatus::config).find("--password-file: no file") == 0);
}

TEST_CASE("an empty text in a file stands for none: it takes back what another file says") {
  Clean clean;
  clean.configure("user = ''\npassword-file = ''\ntls-ca = ''\n");
  CHECK(clean.endpoint().credentials.user.empty());
  CHECK(clean.endpoint().credentials.password.empty());
}

TEST_CASE("the files of TLS are for servers that speak it") {
  Clean clean;
  const std::string ca = clean.scratch.write("ca", "");
  const std::string cert = clean.scratch.write("cert", "");
  const std::string key = clean.scratch.write("key", "");
  clean.configure("tls-ca = '" + ca + "'\ntls-cert = '" + cert + "'\ntls-key = '" + key + "'\n");
  CHECK(clean.endpoint().tls_files.authorities.empty());
  clean.globals.redis = {"rediss://h"};
  CHECK(clean.endpoint().tls_files.authorities == ca);
  CHECK(clean.endpoint().tls_files.certificate == cert);
  CHECK(clean.endpoint().tls_files.key == key);
  clean.environment.set("RLOCK_TLS_CA", "/environment/ca");
  clean.environment.set("RLOCK_TLS_CERT", "/environment/cert");
  clean.environment.set("RLOCK_TLS_KEY", "/environment/key");
  CHECK(clean.endpoint().tls_files.authorities == "/environment/ca");
  CHECK(clean.endpoint().tls_files.certificate == "/environment/cert");
  CHECK(clean.endpoint().tls_files.key == "/environment/key");
  clean.globals.tls_ca = "/flag/ca";
  clean.globals.tls_cert = "/flag/cert";
  clean.globals.tls_key = "/flag/key";
  CHECK(clean.endpoint().tls_files.authorities == "/flag/ca");
  CHECK(clean.endpoint().tls_files.certificate == "/flag/cert");
  CHECK(clean.endpoint().tls_files.key == "/flag/key");
}

TEST_CASE("a certificate of the client needs its key, and a key its certificate") {
  Clean clean;
  clean.globals.tls_cert = "cert";
  CHECK_NOTHROW((void)clean.endpoint());  // nobody wants it
  clean.globals.redis = {"rediss://h"};
  CHECK(clean.complaint(ExitStatus::config).find("cert: ") == 0);
  clean.globals.tls_cert.reset();
  clean.globals.tls_key = "key";
  CHECK(clean.complaint(ExitStatus::config).find("key: ") == 0);
}

TEST_CASE("a command that looks at one server refuses several, and none are never enough") {
  Clean clean;
  clean.globals.redis = {"redis://a", "redis://b"};
  CHECK(clean.complaint(ExitStatus::usage).find("list: looks at one server; use -r") == 0);
  clean.globals.redis.clear();
  clean.environment.set("RLOCK_REDIS", "redis://a redis://b");
  CHECK(clean.complaint(ExitStatus::usage).find("list: looks at one server; use -r") == 0);
  clean.environment.set("RLOCK_REDIS", "  ");
  CHECK_FALSE(clean.complaint(ExitStatus::usage).empty());
}

TEST_CASE("several servers keep a lock together, by flags or by RLOCK_REDIS") {
  Clean clean;
  clean.environment.set("RLOCK_REDIS", "redis://a  rediss://b\nunix:///s");
  const auto options = clean.globals.session_options();
  REQUIRE(options.servers.size() == 3);
  CHECK(options.servers[1].display() == "rediss://b:6379");
  CHECK(options.client.endpoint.display() == "redis://a:6379");
}

TEST_CASE("servers that share something with others cannot keep a lock together") {
  Clean clean;
  for (const auto& [one, other] :
       {std::pair{"redis://a", "redis://a:6379/1"}, std::pair{"redis://u:p@a", "rediss://a"},
        std::pair{"unix:///s", "unix:/s?db=2"}}) {
    clean.globals.redis = {"redis://c", one, other};
    CHECK(has(clean.complaint(ExitStatus::usage), "two votes"));
  }
  for (const char* url : {"redis-sentinel://a#m", "redis-cluster://a", "local:"}) {
    clean.globals.redis = {"redis://c", "redis://d", url};
    CHECK(has(clean.complaint(ExitStatus::usage), "cannot be one of several"));
  }
}

TEST_CASE("a timeout is longer than nothing") {
  Clean clean;
  for (const char* timeout : {"0", "0ms", "x", "", "-1s"}) {
    CAPTURE(timeout);
    clean.globals.timeout = timeout;
    CHECK(clean.complaint(ExitStatus::usage).find("--timeout: ") == 0);
  }
}
