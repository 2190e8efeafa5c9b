// What the user sees when the server cannot serve: a status, one line, and nothing left behind.
// Labels: long server
#include <algorithm>
#include <csignal>
#include <string>

#include <doctest/doctest.h>

#include "cli/servers/server_faults_fixture.hpp"
#include "support/fake_server.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/proxy.hpp"
#include "support/resp.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::server_faults;
using namespace std::chrono_literals;

namespace {

// What a process may take while it refuses a reply. The sanitizers' own memory comes on top.
const long k_most_kib = (is_sanitized() ? 256L : 32L) * 1024;

std::size_t rlock_clients(const Server& server) {
  const std::string list = server.command({"CLIENT", "LIST"});
  std::size_t count = 0;
  for (std::size_t at = list.find("name=rlock"); at != std::string::npos;
       at = list.find("name=rlock", at + 1)) {
    ++count;
  }
  return count;
}

// How often a command was called, whatever became of it.
long calls(const Server& server, const std::string& command) {
  const std::string stats = server.command({"INFO", "commandstats"});
  const std::string key = "cmdstat_" + command + ":calls=";
  const std::size_t at = stats.find(key);
  return at == std::string::npos ? 0 : std::stol(stats.substr(at + key.size()));
}

}  // namespace

TEST_CASE("R2: a server that is down is told by status 69 and one line" *
          doctest::test_suite("R2")) {
  const std::string port = std::to_string(free_port());
  check_all_refused("redis://127.0.0.1:" + port, 69);
  check_all_refused("unix:///nonexistent/redis.sock", 69);
  const Result result = invoke("redis://127.0.0.1:" + port, {"exec", "job", "--", "true"});
  CHECK(has(result.err, "redis://127.0.0.1:" + port));
  CHECK(has(result.err, "Connection refused"));
  check_refused(invoke("redis://no-such-host.invalid", {"inspect-queue", "job"}), 69);
}

TEST_CASE("R2: a server that never answers costs the timeout, not a hang" *
          doctest::test_suite("R2")) {
  const FakeServer server;
  check_all_refused(server.url(), 69, "200ms");
}

TEST_CASE("R2: a server that closes at once is told by status 69" * doctest::test_suite("R2")) {
  const FakeServer server(FakeOptions{.replies = {""}, .close_after = true});
  check_all_refused(server.url(), 69, "300ms");
}

TEST_CASE("R2: half a reply is told by status 69" * doctest::test_suite("R2")) {
  SUBCASE("and then silence") {
    const FakeServer server(FakeOptions{.replies = {"+OK\r\n*2\r\n:1\r\n"}});
    check_all_refused(server.url(), 69, "100ms");
  }
  SUBCASE("and then the end") {
    const FakeServer server(FakeOptions{.replies = {"+OK\r\n*2\r\n:1\r\n"}, .close_after = true});
    check_all_refused(server.url(), 69, "150ms");
  }
  SUBCASE("byte for byte, slower than the timeout") {
    const FakeServer server(FakeOptions{
        .replies = {"+OK\r\n*2\r\n:1\r\n$900\r\n" + std::string(900, 'x')}, .drip = 20ms});
    check_all_refused(server.url(), 69, "100ms");
  }
}

TEST_CASE("R2: an answer that makes no sense is told by status 76" * doctest::test_suite("R2")) {
  // The first reply is the one to CLIENT SETNAME, which nobody reads.
  for (const std::string& nonsense :
       {std::string("HTTP/1.1 400 Bad Request\r\n\r\n"), std::string("+OK\r\nSSH-2.0-OpenSSH\r\n"),
        std::string("+OK\r\n*1\r\n$-7\r\n"), std::string("+OK\r\n*-5\r\n"),
        std::string("+OK\r\n:not a number\r\n"), std::string("+OK\r\n$5\r\nabcdefgh\r\n"),
        std::string(
            "+OK\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"),
        std::string("+OK\r\n\0\0\0\0\r\n", 11)}) {
    CAPTURE(nonsense);
    const FakeServer server(FakeOptions{.replies = {nonsense}});
    check_refused(invoke(server.url(), {"exec", "job", "--", "echo", "ran"}), 76);
    check_refused(invoke(server.url(), {"inspect-queue", "job"}), 76);
  }
}

TEST_CASE("R2: a well-formed answer of the wrong shape is told by status 76" *
          doctest::test_suite("R2")) {
  for (const char* shape : {"+PONG\r\n", "$-1\r\n", "*0\r\n", "*1\r\n:99\r\n", "*2\r\n:0\r\n:1\r\n",
                            "*1\r\n$1\r\nx\r\n", "*1\r\n*0\r\n", "*-1\r\n", "*1\r\n:1\r\n"}) {
    CAPTURE(shape);
    const FakeServer server(FakeOptions{.replies = {std::string("+OK\r\n") + shape}});
    check_refused(invoke(server.url(), {"exec", "job", "--", "echo", "ran"}), 76);
    check_refused(invoke(server.url(), {"inspect-queue", "job"}), 76);
    check_refused(invoke(server.url(), {"watch", "job"}), 76);
    check_refused(invoke(server.url(), {"list"}), 76);
  }
}

TEST_CASE("R2: a reply of a gigabyte is refused before memory is taken for it" *
          doctest::test_suite("R2")) {
  for (const char* start : {"+OK\r\n$1073741824\r\n", "+OK\r\n*1\r\n$1000000000\r\n", "+OK\r\n+"}) {
    CAPTURE(start);
    const FakeServer server(FakeOptions{.replies = {start}, .stream = true});
    Process process(
        rlock_argv("-r", server.url(), "--timeout", "10s", "exec", "job", "--", "echo"));
    long most = 0;
    wait_until([&] {
      most = std::max(most, resident_kib(process.pid()));
      return !process.running();
    });
    check_refused(process.wait(), 76);
    CHECK(most < k_most_kib);
  }
  for (const char* start : {"+OK\r\n*1000000000\r\n", "+OK\r\n*1\r\n*2147483647\r\n"}) {
    CAPTURE(std::string(start));
    const FakeServer server(FakeOptions{.replies = {start}});
    check_refused(invoke(server.url(), {"exec", "job", "--", "echo", "ran"}), 76);
    // A snapshot may be large: there its elements are waited for, without memory for them.
    const Result result = invoke(server.url(), {"inspect-queue", "job"}, "200ms");
    check_refused(result, result.status == 69 ? 69 : 76);
  }
}

TEST_CASE("R2: an error of the server cannot forge a message or move the cursor" *
          doctest::test_suite("R2")) {
  const FakeServer server(
      FakeOptions{.replies = {"+OK\r\n-ERR \x1b[2J\x07 gone\xff rlock: all is well\r\n"}});
  const Result result = invoke(server.url(), {"exec", "job", "--", "echo", "ran"});
  check_refused(result, 76);
  CHECK_FALSE(has(result.err, "\x1b"));
  CHECK(has(result.err, "\\x1b[2J\\x07"));
}

TEST_CASE("R2: a server that is stopped costs the timeout, and the late request leaves no lock" *
          doctest::test_suite("R2")) {
  Server server;
  load_scripts(server);
  for (const std::string& url : {server.unix_url(), server.tcp_url()}) {
    CAPTURE(url);
    server.command({"CONFIG", "RESETSTAT"});
    server.pause();
    check_refused(invoke(url, {"exec", "job", "--", "echo", "ran"}, "3s"), 69);
    check_refused(invoke(url, {"acquire", "--no-watchdog", "job"}, "3s"), 69);
    server.resume();
    // Both requests are carried out late, each with what undoes it behind it.
    CHECK(wait_until([&] { return calls(server, "evalsha") >= 2 && calls(server, "eval") >= 2; }));
    CHECK(comes_to_be_empty(server));
    CHECK(wait_until([&] { return rlock_clients(server) == 0; }));
  }
}

TEST_CASE("R2: a stopped server keeps no command from being refused in time" *
          doctest::test_suite("R2")) {
  Server server;
  server.pause();
  check_all_refused(server.tcp_url(), 69, "200ms");
  server.resume();
}

TEST_CASE("R2: a release that the stopped server cannot answer is told, and done later" *
          doctest::test_suite("R2")) {
  Server server;
  load_scripts(server);
  Process job(rlock_argv("exec", "-r", server.tcp_url(), "--timeout", "3s", "job", "--", "sh", "-c",
                         "echo ready; read x; exit 5"),
              {.hold_stdin = true});
  job.wait_for_stdout("ready");
  server.pause();
  job.close_stdin();
  const Result result = job.wait();
  CAPTURE(result.err);
  CHECK(result.status == 5);
  CHECK(is_one_message(result.err));
  CHECK(has(result.err, "job: not released"));
  server.resume();
  CHECK(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
}

TEST_CASE("R2: a network that swallows everything is told by status 69, and leaves no lock" *
          doctest::test_suite("R2")) {
  Server server;
  load_scripts(server);
  Proxy proxy(server.port());
  SUBCASE("before the request arrives") {
    server.command({"CONFIG", "RESETSTAT"});
    proxy.set_mode(Mode::blackhole);
    check_refused(invoke(proxy.url(), {"exec", "job", "--", "echo", "ran"}, "3s"), 69);
    CHECK(server.keys().empty());
    proxy.set_mode(Mode::pass);  // now the request and what undoes it arrive
    CHECK(wait_until([&] { return calls(server, "evalsha") >= 1 && calls(server, "eval") >= 1; }));
  }
  SUBCASE("only the replies") {
    proxy.set_mode(Mode::swallow_replies);
    check_refused(invoke(proxy.url(), {"exec", "job", "--", "echo", "ran"}, "300ms"), 69);
    check_refused(invoke(proxy.url(), {"acquire", "--no-watchdog", "job"}, "300ms"), 69);
  }
  CHECK(comes_to_be_empty(server));
  proxy.cut();
  CHECK(wait_until([&] { return rlock_clients(server) == 0; }));
}

TEST_CASE("R2: a signal while the server does not answer ends rlock and leaves no lock" *
          doctest::test_suite("R2")) {
  Server server;
  load_scripts(server);
  server.command({"CONFIG", "RESETSTAT"});
  Proxy proxy(server.port());
  proxy.set_mode(Mode::swallow_replies);
  Process process(rlock_argv("exec", "-r", proxy.url(), "--timeout", "60s", "job", "--", "echo"));
  REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "1"; }));
  process.signal(SIGTERM);
  const Result result = process.wait();
  CHECK(result.status == 128 + SIGTERM);
  CHECK(result.out.empty());
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("R2: a server of another protocol is told in one line" * doctest::test_suite("R2")) {
  Server server;  // its TLS-less port gets no TLS: refused before anything is sent
  check_refused(invoke("http://127.0.0.1:" + std::to_string(server.port()), k_commands[0]), 64);
}
