// What rlock says when a server refuses: which server, what has happened and what to do, before
// what the server says.
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <doctest/doctest.h>

#include "support/certificates.hpp"
#include "support/fake_server.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

Result invoke(const Words& words, EnvChanges env = {}) {
  return run(rlock_argv(words), {.env = std::move(env)});
}

const std::vector<Words> k_commands = {
    {"exec", "job", "--", "true"},
    {"acquire", "--no-watchdog", "job"},
    {"unlock", "--owner=u:1", "job"},
    {"inspect-queue", "job"},
    {"list"},
    {"doctor"},
};

// Checks that the message has the URL, then `ours`, then `theirs`, and no script's hash or line.
void check_words(const Result& result, const std::string& url, const std::string& ours,
                 const std::string& theirs) {
  CAPTURE(result.err);
  CAPTURE(ours);
  CHECK(is_one_message(result.err));
  const std::size_t at = result.err.find(url);
  const std::size_t words = result.err.find(ours);
  const std::size_t server = result.err.find(theirs);
  CHECK(at != std::string::npos);
  CHECK(words != std::string::npos);
  CHECK(server != std::string::npos);
  CHECK(at < words);
  CHECK(words < server);
  CHECK_FALSE(has(result.err, "script:"));
  CHECK_FALSE(has(result.err, "call to f_"));
}

std::string write_file(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  ::chmod(path.c_str(), 0600);
  return path;
}

}  // namespace

TEST_CASE("words: a server of another protocol is named, with every command") {
  const FakeServer http(FakeOptions{.replies = {"HTTP/1.1 400 Bad Request\r\n\r\n"}});
  const FakeServer ssh(FakeOptions{.replies = {"SSH-2.0-OpenSSH_9.2\r\n"}});
  for (const Words& words : k_commands) {
    CAPTURE(words[0]);
    Words argv = {"-r", http.url()};
    argv.insert(argv.end(), words.begin(), words.end());
    const Result result = invoke(argv);
    CAPTURE(result.err);
    CHECK(result.status == 76);
    CHECK(has(result.err, http.url() + ": an HTTP server answers there"));
    argv[1] = ssh.url();
    CHECK(has(invoke(argv).err, ssh.url() + ": the server's answer makes no sense"));
  }
}

TEST_CASE("words: what a server refuses is told in our words first, without script hashes") {
  Server server;
  const std::string url = server.tcp_url();
  const Words job = {"-r", url, "exec", "job", "--", "true"};
  SUBCASE("a replica") {
    server.command({"REPLICAOF", "127.0.0.1", std::to_string(free_port())});
    check_words(invoke(job), url, "is a replica", "READONLY");
  }
  SUBCASE("no memory") {
    server.command({"CONFIG", "SET", "maxmemory", "1"});
    check_words(invoke(job), url, "memory is full", "OOM");
  }
  SUBCASE("no replicas") {
    server.command({"CONFIG", "SET", "min-replicas-to-write", "1"});
    check_words(invoke(job), url, "min-replicas-to-write", "NOREPLICAS");
  }
  SUBCASE("a missing command in a script, and a missing command") {
    server.command({"ACL", "SETUSER", "bob", "on", ">pw", "~*", "&*", "+@all", "-hset"});
    const std::string as_bob = "redis://bob:pw@" + url.substr(8);
    check_words(invoke({"-r", as_bob, "exec", "job", "--", "true"}), url,
                "this user is not allowed to run", "; the server says: ");
    server.command({"ACL", "SETUSER", "bob", "-eval", "-evalsha"});
    check_words(invoke({"-r", as_bob, "exec", "job", "--", "true"}), url,
                "not allowed to run evalsha", "NOPERM");
  }
  SUBCASE("a password") {
    server.command({"CONFIG", "SET", "requirepass", "pw"});
    check_words(invoke(job), url, "--password-file", "NOAUTH");
    check_words(invoke(job, {{"RLOCK_PASSWORD", "wrong"}}), url, "rejects the user or the password",
                "WRONGPASS");
  }
}

TEST_CASE("words: no answer in time is told with the time and the option that sets it") {
  const FakeServer silent;
  for (const Words& words : k_commands) {
    CAPTURE(words[0]);
    Words argv = {"-r", silent.url(), "--timeout", "500ms"};
    argv.insert(argv.end(), words.begin(), words.end());
    const Result result = invoke(argv);
    CAPTURE(result.err);
    CHECK(result.status == 69);
    CHECK(has(result.err, silent.url() + " within 500ms (--timeout)"));
  }
  Server stopped;
  stopped.pause();
  const Result result = invoke({"-r", stopped.unix_url(), "--timeout", "0.5", "list"});
  CHECK(has(result.err, "within 500ms (--timeout)"));
  stopped.resume();
}

TEST_CASE("words: of several servers, a time that the lease sets is not called --timeout") {
  const FakeServer one;
  const FakeServer two;
  const Result result =
      invoke({"-r", one.url(), "-r", two.url(), "exec", "--lease", "6s", "job", "--", "true"});
  CAPTURE(result.err);
  CHECK(result.status == 69);
  CHECK(has(result.err, "within 600ms (a tenth of the lease)"));
}

TEST_CASE("words: a TLS handshake that gets no answer is told with the time") {
  if (!can_use_tls()) return;
  const FakeServer silent;
  const std::string url = "rediss://127.0.0.1:" + std::to_string(silent.port());
  const Result result = invoke({"-r", url, "--timeout", "500ms", "list"});
  CAPTURE(result.err);
  CHECK(has(result.err, "handshake within 500ms (--timeout)"));
}

TEST_CASE("words: a file named by the configuration is told with the line that names it") {
  Server server;
  const std::string config = server.directory() + "/rlock.toml";
  const auto complain = [&](const std::string& text) {
    write_file(config, "# comment\n" + text);
    return invoke({"--config", config, "list"});
  };
  const std::string redis = "redis = \"" + server.unix_url() + "\"\n";
  SUBCASE("a password file") {
    const std::string missing = server.directory() + "/missing";
    Result result = complain(redis + "password-file = \"" + missing + "\"\n");
    CAPTURE(result.err);
    CHECK(result.status == 78);
    CHECK(has(result.err, config + ": line 3: password-file: " + missing + ": "));
    const std::string open = write_file(server.directory() + "/open", "secret\n");
    ::chmod(open.c_str(), 0644);
    result = complain("password-file = \"" + open + "\"\n" + redis);
    CHECK(has(result.err, config + ": line 2: password-file: " + open + ": "));
    // Named by a flag, the flag is known to who typed it.
    result = invoke({"-r", server.unix_url(), "--password-file", missing, "list"});
    CHECK(has(result.err, "rlock: " + missing + ": "));
  }
  SUBCASE("a file for TLS") {
    const Result result = complain("redis = \"rediss://localhost:1\"\ntls-ca = \"/missing.pem\"\n");
    CAPTURE(result.err);
    CHECK(result.status == 78);
    CHECK(has(result.err, config + ": line 3: tls-ca: /missing.pem: "));
  }
  SUBCASE("another setting") {
    CHECK(has(complain(redis + "timeout = \"soon\"\n").err, config + ": line 3: timeout: "));
    CHECK(has(complain("redis = \"nonsense\"\n").err, config + ": line 2: redis: "));
  }
}

TEST_CASE("words: where no server is configured, the default address is called that") {
  const Server server;  // for its directory, without a configuration
  const EnvChanges none = {{"RLOCK_REDIS", std::nullopt},
                           {"RLOCK_CONFIG", std::nullopt},
                           {"XDG_CONFIG_HOME", server.directory()}};
  const std::string port = std::to_string(free_port());
  const Result named = invoke({"-r", "redis://127.0.0.1:" + port, "list"}, none);
  CAPTURE(named.err);
  CHECK(named.status == 69);
  CHECK_FALSE(has(named.err, "default"));
  const Result result = invoke({"list"}, none);
  if (result.status == 0) {
    MESSAGE("skipped: a server is there, at the default address");
    return;
  }
  CAPTURE(result.err);
  const std::string told = "rlock: no server is configured: using redis://127.0.0.1:6379\n";
  REQUIRE(result.err.starts_with(told));
  const std::string error = result.err.substr(told.size());
  CHECK(is_one_message(error));
  CHECK_FALSE(has(error, "no server is configured"));
  for (const char* part : {"redis://127.0.0.1:6379", "-r", "RLOCK_REDIS", "configuration file"}) {
    CHECK(has(error, part));
  }
  const Result quiet = invoke({"-q", "list"}, none);
  CAPTURE(quiet.err);
  CHECK(is_one_message(quiet.err));
  CHECK(has(quiet.err, "no server is configured"));
  // These ask no server, or nobody reads what they say.
  CHECK(invoke({"config"}, none).err.empty());
  CHECK(invoke({"list", "--help"}, none).err.empty());
  CHECK(invoke({"__complete", "names", "--", ""}, none).err.empty());
}
