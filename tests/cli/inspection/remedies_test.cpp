// The commands that rlock prints act on the server that was looked at, in whatever shell they are
// pasted, and show no password.
#include <csignal>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <sys/stat.h>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "cli/inspection/remedies_fixture.hpp"
#include "support/certificates.hpp"
#include "support/cluster.hpp"
#include "support/process.hpp"
#include "support/quorum.hpp"
#include "support/resp.hpp"
#include "support/sentinels.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::remedies;

namespace {

// Breaks the lock "job" and its counter of tokens, looks, and pastes what is to mend both.
struct Patient {
  std::function<std::string(const Words&)> server;  // sends a command to the right database
  Words options;                                    // of rlock, to look at it
  EnvChanges env{};                                 // while looking
  EnvChanges later{};                               // while pasting

  void check() const {
    for (const char* command : {"doctor", "inspect-queue"}) {
      CAPTURE(command);
      server({"SET", k_token, "nonsense"});
      server({"HSET", "job", "0a53fe30-4e4f-4b66-8ad5-6dd6fd2d0b57:57", "1"});
      Words words = options;
      words.insert(words.end(), {command, "job"});
      const Result result = invoke(words, env);
      CAPTURE(result.out);
      CAPTURE(result.err);
      CHECK_FALSE(has(result.out, k_password));
      for (const std::string& found : commands_in(result.out, "    hint: ")) {
        if (has(found, "doctor --repair") || has(found, "unlock")) paste(found, later);
      }
      CHECK(server({"GET", k_token}) != "nonsense");
      CHECK(server({"EXISTS", "job"}) == "0");
    }
  }
};

Patient patient_of(const Guarded& guarded, Words options, EnvChanges env = {},
                   EnvChanges later = {}) {
  return {[&guarded](const Words& words) { return guarded.command(words); }, std::move(options),
          std::move(env), std::move(later)};
}

}  // namespace

TEST_CASE("remedies: with a user and a password in the URL, and a database") {
  Guarded guarded;
  const std::string url = "redis://bob:" + k_password + "@" + guarded.host + "/3";
  const EnvChanges later = {{"RLOCK_PASSWORD", k_password}};
  patient_of(guarded, {"-r", url}, {}, later).check();
  patient_of(guarded, {}, {{"RLOCK_REDIS", url}}, later).check();
  const std::string of_default = "redis://:" + k_password + "@" + guarded.host + "/3";
  patient_of(guarded, {"-r", of_default}, {}, later).check();
}

TEST_CASE("remedies: with a password from a variable or a file") {
  Guarded guarded;
  const std::string url = "redis://" + guarded.host + "/3";
  for (const char* name : {"RLOCK_PASSWORD", "REDISCLI_AUTH"}) {
    const EnvChanges password = {{name, k_password}};
    patient_of(guarded, {"--user", "bob", "-r", url}, password, password).check();
  }
  const std::string file = guarded.server.directory() + "/it's the password";
  std::ofstream(file) << k_password << '\n';
  ::chmod(file.c_str(), 0600);
  patient_of(guarded, {"--user", "bob", "--password-file", file, "-r", url}).check();
  patient_of(guarded, {"--password-file", file}, {{"RLOCK_REDIS", url}, {"RLOCK_USER", "bob"}})
      .check();
}

TEST_CASE("remedies: with a configuration file that has a password in its URL") {
  Guarded guarded;
  const std::string config = guarded.server.directory() + "/rlock.toml";
  std::ofstream(config) << "redis = \"redis://bob:" << k_password << "@" << guarded.host
                        << "/3\"\n";
  ::chmod(config.c_str(), 0600);
  const EnvChanges none = {{"RLOCK_REDIS", std::nullopt}};
  patient_of(guarded, {"--config", config}, none, none).check();
  patient_of(guarded, {}, {{"RLOCK_REDIS", std::nullopt}, {"RLOCK_CONFIG", config}}, none).check();
  // In the shell where it is pasted, another file is the default one.
  patient_of(guarded, {},
             {{"RLOCK_REDIS", std::nullopt}, {"XDG_CONFIG_HOME", guarded.server.directory()}}, none)
      .check();
}

TEST_CASE("remedies: where they are pasted, RLOCK_REDIS does not outrank a configuration file") {
  Guarded guarded;
  const std::string directory = guarded.server.directory();
  std::ofstream(directory + "/password") << k_password << '\n';
  ::chmod((directory + "/password").c_str(), 0600);
  std::ofstream(directory + "/rlock.toml")
      << "redis = \"redis://" << guarded.host << "/3\"\nuser = \"bob\"\npassword-file = \""
      << directory << "/password\"\n";
  const EnvChanges with_config = {{"XDG_CONFIG_HOME", directory}, {"RLOCK_REDIS", std::nullopt}};
  patient_of(guarded, {}, with_config, {{"XDG_CONFIG_HOME", directory}}).check();
}

TEST_CASE("remedies: on a Unix socket with a database, and one of several servers") {
  Server server;
  Server other;
  const auto command = [&](const Words& words) {
    RespClient client = server.connect();
    client.call({"SELECT", "2"});
    return client.call(words).at(0);
  };
  Patient{command, {"-r", server.unix_url() + "?db=2"}}.check();
  Patient{[&](const Words& words) { return server.command(words); },
          {},
          {{"RLOCK_REDIS", server.tcp_url()}}}
      .check();
  // inspect-queue looks at each; the one has the trouble, and is mended alone.
  server.command({"HSET", "job", "0a53fe30-4e4f-4b66-8ad5-6dd6fd2d0b57:57", "1"});
  other.command({"HSET", "job", "0a53fe30-4e4f-4b66-8ad5-6dd6fd2d0b57:58", "1"});
  const Result result =
      invoke({"inspect-queue", "job"}, {{"RLOCK_REDIS", server.tcp_url() + " " + other.tcp_url()}});
  const Words hints = commands_in(result.out, "    hint: ");
  CAPTURE(result.out);
  REQUIRE(hints.size() == 2);
  paste(hints[1], {});
  CHECK(server.command({"EXISTS", "job"}) == "1");
  CHECK(other.command({"EXISTS", "job"}) == "0");
}

TEST_CASE("remedies: with TLS and a client's certificate") {
  if (!can_use_tls()) return;
  TlsServer server({.asks_clients = true});
  Patient{[&](const Words& words) { return server.plain().command(words); },
          {"-r", server.url(), "--tls-ca", certificate_file("ca.pem"), "--tls-cert",
           certificate_file("client.pem"), "--tls-key", certificate_file("client.key")}}
      .check();
}

TEST_CASE("remedies: with sentinels, and in a cluster") {
  Sentinels sentinels({.down_after_ms = 600'000});  // it stays with its master
  Patient{[&](const Words& words) { return sentinels.server(0).command(words); },
          {"-r", sentinels.url()}}
      .check();
  Cluster cluster;
  Patient{[&](const Words& words) { return cluster.command("job", words); }, {"-r", cluster.url()}}
      .check();
}

TEST_CASE("remedies: about the server") {
  Guarded guarded;
  guarded.server.command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  const Result result =
      invoke({"-r", "redis://bob:" + k_password + "@" + guarded.host + "/3", "doctor"});
  const Words hints = commands_in(result.out, "    hint: ");
  CAPTURE(result.out);
  REQUIRE_FALSE(hints.empty());
  CHECK_FALSE(has(result.out, k_password));
  paste(hints[0], {});
  CHECK(has(guarded.server.command({"CONFIG", "GET", "maxmemory-policy"}), "noeviction"));
}

TEST_CASE("remedies: a replica's master is looked at as the same user, with TLS") {
  Guarded guarded;
  Server replica({.args = {"--requirepass", k_password}});
  replica.command({"ACL", "SETUSER", "bob", "on", ">" + k_password, "~*", "&*", "+@all"});
  replica.command({"REPLICAOF", "127.0.0.1", std::to_string(guarded.server.port())});
  const Result result = invoke({"--user", "bob", "-r", replica.tcp_url() + "/3", "doctor"},
                               {{"RLOCK_PASSWORD", k_password}});
  const Words hints = commands_in(result.out, "    hint: ");
  CAPTURE(result.out);
  REQUIRE_FALSE(hints.empty());
  CHECK(hints[0] == "rlock --user bob -r redis://" + guarded.host + "/3 doctor");
}

TEST_CASE("remedies: of a run whose user lacks a right") {
  Guarded guarded;
  guarded.server.command({"ACL", "SETUSER", "bob", "-hset"});
  const EnvChanges password = {{"RLOCK_PASSWORD", k_password}};
  const Result result =
      invoke({"--user", "bob", "-r", "redis://" + guarded.host + "/3", "exec", "job", "--", "true"},
             password);
  CAPTURE(result.err);
  if (has(result.err, "is not allowed to run hset")) return;  // Redis 7.2 names it
  const Words hints = commands_in(result.err, "to see which: ");
  REQUIRE(hints.size() == 1);
  paste(hints[0], password, 1);
}

TEST_CASE("remedies: of a run that waits for a dead holder") {
  Server server;
  const EnvChanges env = {{"RLOCK_REDIS", server.tcp_url()}};
  for (const auto& [kind, other] : {std::pair("reentrant", "reentrant"),
                                    {"simple", "simple"},
                                    {"semaphore", "semaphore"},
                                    {"read", "write"}}) {
    CAPTURE(kind);
    Process holder(rlock_argv("exec", "--kind", kind, "--lease", "10m", "it's", "--", "sh", "-c",
                              "echo held; exec sleep 600"),
                   {.env = env});
    holder.wait_for_stdout("held");
    holder.signal(SIGKILL);
    holder.wait();
    const Result refused = invoke({"exec", "-n", "--kind", other, "it's", "--", "true"}, env);
    CAPTURE(refused.err);
    const Words hints = commands_in(refused.err, "if its command has ended, too: ");
    REQUIRE(hints.size() == 1);
    paste(hints[0], {});
    CHECK(server.command({"EXISTS", "it's"}) == "0");
  }
}

TEST_CASE("remedies: of a run that waits for its turn") {
  Server server;
  server.command({"RPUSH", "redisson_lock_queue:{it's}", "uuid:57"});
  server.command({"ZADD", "redisson_lock_timeout:{it's}",
                  std::to_string((std::time(nullptr) + 600) * 1000), "uuid:57"});
  RespClient listener = server.connect();  // it lives
  listener.call({"SUBSCRIBE", "redisson_lock__channel:{it's}:uuid:57"});
  const Result refused =
      invoke({"exec", "-n", "--fair", "it's", "--", "true"}, {{"RLOCK_REDIS", server.tcp_url()}});
  CAPTURE(refused.err);
  const Words hints = commands_in(refused.err, "others in its queue are first: ");
  REQUIRE(hints.size() == 1);
  paste(hints[0], {});
}

TEST_CASE("remedies: of a run that waits, for all its servers") {
  Server server;
  const auto said = [&](const Words& options, const EnvChanges& env) {
    Words words = {"exec", "-n"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"it's", "--", "true"});
    return commands_in(invoke(words, env).err, "if its holder is gone: ");
  };
  for (const char* kind : {"reentrant", "simple"}) {
    CAPTURE(kind);
    const bool is_string = std::string(kind) == "simple";
    const std::string owner = "0a53fe30-4e4f-4b66-8ad5-6dd6fd2d0b57:57";
    server.command(is_string ? Words{"SET", "it's", owner} : Words{"HSET", "it's", owner, "1"});
    const Words hints = said({"--kind", kind}, {{"RLOCK_REDIS", server.tcp_url()}});
    REQUIRE(hints.size() == 1);
    paste(hints[0], {});
    CHECK(server.command({"EXISTS", "it's"}) == "0");
  }
  Quorum quorum(3);
  for (int i = 0; i < 3; ++i)
    quorum[i].command({"HSET", "it's", "0a53fe30-4e4f-4b66-8ad5-6dd6fd2d0b57:57", "1"});
  const Words hints =
      said({"-r", quorum[0].tcp_url(), "-r", quorum[1].tcp_url(), "-r", quorum[2].tcp_url()}, {});
  REQUIRE(hints.size() == 1);
  paste(hints[0], {});
  for (int i = 0; i < 3; ++i) CHECK(quorum[i].command({"EXISTS", "it's"}) == "0");
}
