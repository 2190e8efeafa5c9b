// Locks through TLS: what works without it works with it.
// Labels: long
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/acquire_fixture.hpp"
#include "cli/beats.hpp"
#include "cli/foreign_lock.hpp"
#include "support/certificates.hpp"
#include "support/contents.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/proxy.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

Words tls_argv(const std::string& url, const Words& words) {
  return rlock_argv("-r", url, "--tls-ca", certificate_file("ca.pem"), words);
}

Result invoke(const std::string& url, const Words& words) { return run(tls_argv(url, words)); }

// The files that a process has mapped.
std::string maps(pid_t pid) { return contents("/proc/" + std::to_string(pid) + "/maps"); }

std::string raw_part(const std::string& json) {
  const std::size_t start = json.find("\"raw\"");
  return json.substr(start, json.find("\"problems\"") - start);
}

}  // namespace

TEST_CASE("R1: a lock is taken, renewed, looked at and released through TLS" *
          doctest::test_suite("R1")) {
  if (!can_use_tls()) return;
  for (const char* protocols : {"TLSv1.2", "TLSv1.3"}) {
    CAPTURE(protocols);
    TlsServer server({.args = {"--tls-protocols", protocols}});
    Words hosts = {"localhost", "127.0.0.1"};
    if (has_ipv6()) hosts.emplace_back("[::1]");
    for (const std::string& host : hosts) {
      CAPTURE(host);
      const std::string url = server.url(host);
      const Result ran = invoke(url, {"exec", "job", "--", "echo", "ran"});
      CAPTURE(ran.err);
      CHECK(ran.status == 0);
      CHECK(ran.out == "ran\n");
      CHECK(ran.err.empty());
      const Result taken = invoke(url, {"acquire", "--no-watchdog", "job"});
      REQUIRE(taken.status == 0);
      const std::string owner = taken.out.substr(0, taken.out.find('\n'));
      CHECK(invoke(url, {"renew", "--owner", owner, "job"}).status == 0);
      CHECK(has(invoke(url, {"inspect-queue", "--json", "job"}).out, owner));
      CHECK(has(invoke(url, {"list"}).out, "job"));
      CHECK(invoke(url, {"exec", "-n", "--timeout", "30s", "job", "--", "true"}).status == 75);
      CHECK(invoke(url, {"unlock", "--owner", owner, "job"}).status == 0);
      CHECK(comes_to_be_empty(server.plain()));
    }
  }
}

TEST_CASE("TLS: a waiter is woken and has its turn, plain and fair") {
  if (!can_use_tls()) return;
  TlsServer server;
  for (const char* kind : {"reentrant", "fair"}) {
    CAPTURE(kind);
    hold(server.plain());
    const Words words = {"exec", "--kind", kind, "job", "--", "echo", "got"};
    Process first(tls_argv(server.url(), words));
    Process second(tls_argv(server.url("127.0.0.1"), words));
    if (std::string(kind) == "fair") {
      REQUIRE(wait_until([&] {
        return server.plain().command({"LLEN", "redisson_lock_queue:{job}"}) == "2";
      }));
      REQUIRE(invoke(server.url(), {"unlock", "--force", "-y", "job"}).status == 0);
    } else {
      REQUIRE(comes_to_wait(server.plain(), "job", 2));
      release(server.plain());
    }
    CHECK(first.wait().out == "got\n");
    CHECK(second.wait().out == "got\n");
    CHECK(comes_to_be_empty(server.plain()));
  }
}

TEST_CASE("TLS: a waiter survives a restart of the server") {
  if (!can_use_tls()) return;
  TlsServer server;
  hold(server.plain());
  Process waiter(tls_argv(server.url(), {"exec", "job", "--", "echo", "got"}));
  REQUIRE(comes_to_wait(server.plain()));
  server.plain().stop();
  server.plain().start();
  CHECK(waiter.wait().out == "got\n");
}

TEST_CASE("TLS: a holder whose connection is cut renews its lease on another") {
  if (!can_use_tls()) return;
  TlsServer server;
  Proxy proxy(server.port());
  const std::string url = "rediss://localhost:" + std::to_string(proxy.port());
  Process holder(tls_argv(url, {"exec", "--lease", "6s", "job", "--", "sh", "-c",
                                "echo ready; cat > /dev/null"}),
                 {.hold_stdin = true});
  holder.wait_for_stdout("ready");
  wait_for_renewal(server.plain());
  CHECK(proxy.connections() == 1);
  proxy.cut();
  REQUIRE(wait_until([&] { return proxy.connections() >= 2; }));
  wait_for_renewal(server.plain());
  CHECK(server.plain().command({"EXISTS", "job"}) == "1");
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
  CHECK(server.plain().command({"EXISTS", "job"}) == "0");
}

TEST_CASE("TLS: replies that come late are waited for") {
  if (!can_use_tls()) return;
  TlsServer server;
  Proxy proxy(server.port());
  proxy.set_delay(30ms);
  const std::string url = "rediss://localhost:" + std::to_string(proxy.port());
  const Result result = invoke(url, {"exec", "job", "--", "echo", "ran"});
  CHECK(result.out == "ran\n");
  CHECK(result.status == 0);
  // The last of it, for which nobody waits, is still on its way.
  CHECK(comes_to_be_empty(server.plain()));
}

TEST_CASE("TLS: a request that the server gets to too late leaves no lock") {
  if (!can_use_tls()) return;
  TlsServer server;
  hold(server.plain(), "job", 10'000);
  Process waiter(tls_argv(
      server.url(), {"exec", "--timeout", "4s", "--wait", "20s", "job", "--", "echo", "ran"}));
  REQUIRE(comes_to_wait(server.plain()));
  server.plain().pause();
  // It asks when the lease that it saw has ended, gets no answer, and sends a release behind.
  const Result result = waiter.wait();
  CHECK((result.status == 69 || result.status == 75));
  CHECK(result.out.empty());
  server.plain().resume();
  CHECK(wait_until([&] { return !has(server.plain().command({"CLIENT", "LIST"}), "name=rlock"); }));
  CHECK(server.plain().command({"EXISTS", "job"}) == "0");
}

TEST_CASE("TLS: a large reply arrives whole") {
  if (!can_use_tls()) return;
  TlsServer server;
  hold(server.plain());
  server.plain().command(
      {"EVAL",
       "for i = 1, 20000 do local owner = string.format('%08d-0000-4000-8000-000000000000:1', i) "
       "redis.call('rpush', KEYS[1], owner) redis.call('zadd', KEYS[2], 9999999999999, owner) end",
       "2", "redisson_lock_queue:{job}", "redisson_lock_timeout:{job}"});
  const Words words = {"inspect-queue", "--json", "job"};
  const Result through_tls = invoke(server.url(), words);
  const Result plain = invoke(server.plain().unix_url(), words);
  REQUIRE(through_tls.status == 0);
  REQUIRE(plain.status == 0);
  CHECK(plain.out.size() > 2'000'000);
  CHECK(raw_part(through_tls.out) == raw_part(plain.out));
}

TEST_CASE("TLS: user and password are for the server behind it") {
  if (!can_use_tls()) return;
  TlsServer server({.args = {"--requirepass", "Pass-Word"}});
  const std::string at = "@localhost:" + std::to_string(server.port());
  CHECK(invoke("rediss://:Pass-Word" + at, {"exec", "job", "--", "true"}).status == 0);
  const Result refused = invoke("rediss://:Wrong-Word" + at, {"exec", "job", "--", "true"});
  CHECK(refused.status == 77);
  CHECK_FALSE(has(refused.err, "Wrong-Word"));
}

TEST_CASE("TLS: a certificate of the client, given by options, variables or the settings") {
  if (!can_use_tls()) return;
  TlsServer server({.asks_clients = true});
  const Words exec = {"exec", "-n", "job", "--", "echo", "ran"};
  const std::string certificate = certificate_file("client.pem");
  const std::string key = certificate_file("client.key");
  Words argv = {"--tls-cert", certificate, "--tls-key", key};
  argv.insert(argv.end(), exec.begin(), exec.end());
  CHECK(invoke(server.url(), argv).out == "ran\n");

  argv = rlock_argv("-r", server.url());
  argv.insert(argv.end(), exec.begin(), exec.end());
  ProcessOptions options;
  options.env = {{"RLOCK_TLS_CA", certificate_file("ca.pem")},
                 {"RLOCK_TLS_CERT", certificate},
                 {"RLOCK_TLS_KEY", key}};
  CHECK(run(argv, options).out == "ran\n");

  const std::string settings = server.plain().directory() + "/rlock.toml";
  std::ofstream(settings) << "redis = \"" << server.url() << "\"\ntls-ca = \""
                          << certificate_file("ca.pem") << "\"\ntls-cert = \"" << certificate
                          << "\"\ntls-key = \"" << key << "\"\n";
  argv = rlock_argv("--config", settings);
  argv.insert(argv.end(), exec.begin(), exec.end());
  CHECK(run(argv).out == "ran\n");
}

TEST_CASE(
    "TLS: files named from the caller's directory are found by the watchdog of acquire, too") {
  if (!can_use_tls()) return;
  TlsServer server({.asks_clients = true});
  const Shells shells(server.plain().directory(), server.url());
  ProcessOptions options = shells.options();
  options.cwd = std::filesystem::path(certificate_file("ca.pem")).parent_path();
  std::string flags;
  SUBCASE("flags") { flags = "--tls-ca ca.pem --tls-cert client.pem --tls-key client.key "; }
  SUBCASE("variables") {
    options.env.insert({{"RLOCK_TLS_CA", "ca.pem"},
                        {"RLOCK_TLS_CERT", "client.pem"},
                        {"RLOCK_TLS_KEY", "./client.key"}});
  }
  SUBCASE("settings") {
    std::ofstream(shells.directory + "/rlock.toml") << "tls-ca = \"ca.pem\"\n"
                                                       "tls-cert = \"client.pem\"\n"
                                                       "tls-key = \"client.key\"\n";
    flags = "--config \"$DIR/rlock.toml\" ";
  }
  Process script(shells.argv("owner=$(rlock acquire " + flags +
                             "--lease 6s job) || exit; echo held; await never"),
                 options);
  script.wait_for_stdout("held");
  for (int i = 0; i < 2; ++i) wait_for_renewal(server.plain());
  script.signal(SIGKILL);
  CHECK(comes_free(server.plain()));
  CHECK(shells.watchdogs_end());
}

TEST_CASE("TLS costs nothing where it is not used: neither the module nor OpenSSL is loaded") {
  if (!can_use_tls()) return;
  TlsServer server;
  // Held, so that a lease is renewed, and a message awaited, by processes that live for a while.
  for (const bool uses_tls : {false, true}) {
    CAPTURE(uses_tls);
    const std::string url = uses_tls ? server.url() : server.plain().tcp_url();
    Process holder(tls_argv(url, {"exec", "--lease", "6s", "job", "--", "sh", "-c",
                                  "echo ready; cat > /dev/null"}),
                   {.hold_stdin = true});
    holder.wait_for_stdout("ready");
    Process waiter(tls_argv(url, {"exec", "job", "--", "true"}));
    REQUIRE(comes_to_wait(server.plain()));
    for (const pid_t pid : {holder.pid(), waiter.pid()}) {
      const std::string files = maps(pid);
      REQUIRE(has(files, "libc.so"));
      for (const char* file : {"rlock-tls", "libssl", "libcrypto"}) {
        CHECK(has(files, file) == uses_tls);
      }
    }
    holder.close_stdin();
    CHECK(holder.wait().status == 0);
    CHECK(waiter.wait().status == 0);
  }
}

TEST_CASE("TLS: a process that holds or waits stays small") {
  if (!can_use_tls() || is_sanitized()) return;
  // The promise is 8 MiB, for the release (7.7 MiB with OpenSSL 3.5). This build is not optimised,
  // so it is larger: 9.0 MiB there.
  constexpr long k_most_kib = 10L * 1024;
  TlsServer server;
  Process holder(tls_argv(server.url(), {"exec", "--lease", "6s", "job", "--", "sh", "-c",
                                         "echo ready; cat > /dev/null"}),
                 {.hold_stdin = true});
  holder.wait_for_stdout("ready");
  Process waiter(tls_argv(server.url(), {"exec", "job", "--", "true"}));
  REQUIRE(comes_to_wait(server.plain()));
  wait_for_renewal(server.plain());
  REQUIRE(wait_until([&] {  // the waiter has a second connection, for messages
    const std::string clients = server.plain().command({"CLIENT", "LIST"});
    std::size_t count = 0;
    for (std::size_t at = clients.find("name=rlock"); at != std::string::npos; ++count) {
      at = clients.find("name=rlock", at + 1);
    }
    return count == 3;
  }));
  CHECK(wait_until([&] {
    const long most = std::max(resident_kib(holder.pid()), resident_kib(waiter.pid()));
    return most > 0 && most <= k_most_kib;
  }));
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
  CHECK(waiter.wait().status == 0);
}
