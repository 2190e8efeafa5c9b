// Who is not to be trusted, what is no TLS, and files that are of no use: one line and a status.
// Labels: long
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/certificates.hpp"
#include "support/fake_server.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

void check_refused(const Result& result, int status, std::string_view why) {
  CAPTURE(result.err);
  CAPTURE(result.out);
  CHECK(result.status == status);
  CHECK_FALSE(result.signaled);
  CHECK(result.out.empty());
  CHECK(result.err.starts_with("rlock: "));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK(has(result.err, why));
}

// Waits for the lock as long as it takes: what is refused must not be tried again.
Result attempt(const std::string& url, const Words& options, const std::string& timeout = "20s") {
  return run(
      rlock_argv("-r", url, "--timeout", timeout, options, "exec", "job", "--", "echo", "ran"));
}

Words trust(const std::string& file = "ca.pem") { return {"--tls-ca", certificate_file(file)}; }

Words show(const std::string& certificate, const std::string& key) {
  return {"--tls-ca",  certificate_file("ca.pem"), "--tls-cert", certificate_file(certificate),
          "--tls-key", certificate_file(key)};
}

std::string local(const std::string& scheme, std::uint16_t port) {
  return scheme + "://127.0.0.1:" + std::to_string(port);
}

// A directory with a copy of rlock, without the module.
class Copy {
 public:
  Copy() {
    std::string path = (std::filesystem::temp_directory_path() / "rlock-copy-XXXXXX").string();
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    directory_ = path;
    std::filesystem::copy_file(rlock_program(), program());
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  ~Copy() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  [[nodiscard]] std::string program() const { return directory_ / "rlock"; }
  [[nodiscard]] std::filesystem::path module() const { return directory_ / "rlock-tls.so"; }
  [[nodiscard]] Result attempt(const std::string& url) const {
    return run({program(), "-r", url, "exec", "job", "--", "echo", "ran"});
  }

 private:
  std::filesystem::path directory_;
};

}  // namespace

TEST_CASE("TLS: a server that does not prove who it is gets no request: status 77") {
  if (!can_use_tls()) return;
  struct Case {
    const char* certificate;
    const char* host;
    Words options;
    const char* why;
  };
  const std::vector<Case> cases = {
      {"server", "localhost", {}, "no trusted authority has signed"},
      {"server", "localhost", trust("other-ca.pem"), "no trusted authority has signed"},
      {"self-signed", "localhost", trust(), "no trusted authority has signed"},
      {"expired", "localhost", trust(), "certificate has expired"},
      {"elsewhere", "localhost", trust(), "certificate is not for localhost"},
      {"elsewhere", "127.0.0.1", trust(), "certificate is not for 127.0.0.1"},
      {"self-signed", "localhost", trust("client.pem"), "no trusted authority has signed"},
  };
  for (const Case& wrong : cases) {
    CAPTURE(wrong.certificate);
    CAPTURE(wrong.why);
    TlsServer server({.certificate = wrong.certificate});
    check_refused(attempt(server.url(wrong.host), wrong.options), 77, wrong.why);
    CHECK(server.plain().keys().empty());
  }
}

TEST_CASE("TLS: what --tls-ca names is trusted: a certificate that signed itself, or one of many") {
  if (!can_use_tls()) return;
  TlsServer own({.certificate = "self-signed"});
  CHECK(attempt(own.url(), trust("self-signed.pem")).out == "ran\n");
  TlsServer signed_by_other;
  CHECK(attempt(signed_by_other.url(), trust("server.pem")).out == "ran\n");
}

TEST_CASE("TLS: a server that does not accept the client is told by status 77") {
  if (!can_use_tls()) return;
  for (const char* protocols : {"TLSv1.2", "TLSv1.3"}) {
    CAPTURE(protocols);
    TlsServer server({.asks_clients = true, .args = {"--tls-protocols", protocols}});
    check_refused(attempt(server.url(), trust()), 77, "give --tls-cert and --tls-key");
    check_refused(attempt(server.url(), show("stranger.pem", "stranger.key")), 77,
                  "rejects the certificate of --tls-cert");
    CHECK(attempt(server.url(), show("client.pem", "client.key")).out == "ran\n");
  }
}

TEST_CASE("TLS: a server that speaks only what is too old is told by status 77") {
  if (!can_use_tls()) return;
  TlsServer server({.args = {"--tls-protocols", "TLSv1.1"}});
  check_refused(attempt(server.url(), trust()), 77, "protocol");
}

TEST_CASE("TLS: files that are of no use are told by status 78, before the server is asked") {
  if (!can_use_tls()) return;
  const std::string url = local("rediss", free_port());  // nobody is there
  const std::string text = std::string(RLOCK_SOURCE_DIR) + "/README.md";
  check_refused(attempt(url, {"--tls-ca", "/nonexistent/ca.pem"}), 78,
                "/nonexistent/ca.pem: No such file");
  check_refused(attempt(url, {"--tls-ca", "/tmp"}), 78, "/tmp: Is a directory");
  check_refused(attempt(url, {"--tls-ca", text}), 78, text + ": contains no PEM certificate");
  check_refused(attempt(url, trust("server.key")), 78, "server.key: contains no PEM certificate");
  check_refused(attempt(url, {"--tls-cert", text}), 78, text + ": a certificate without its key");
  check_refused(attempt(url, {"--tls-key", text}), 78, text + ": a key without its certificate");
  check_refused(attempt(url, {"--tls-cert", text, "--tls-key", text}), 78,
                text + ": contains no usable PEM certificate");
  check_refused(attempt(url, show("client.pem", "client.pem")), 78,
                "client.pem: contains no PEM private");
  check_refused(attempt(url, show("client.pem", "locked.key")), 78,
                "locked.key: contains no PEM private");
  check_refused(attempt(url, show("client.pem", "server.key")), 78,
                "server.key: not the key of the certificate");
  check_refused(attempt(url, trust()), 69, "Connection refused");
}

TEST_CASE("TLS: the files are not looked at where no server speaks TLS") {
  Server server;
  const Words wrong = {"--tls-ca", "/nonexistent", "--tls-cert", "/nonexistent"};
  CHECK(attempt(server.tcp_url(), wrong).out == "ran\n");
}

TEST_CASE("TLS: a port that speaks something else is told by status 76, or 69 if it is silent") {
  if (!can_use_tls()) return;
  for (const char* greeting : {"-ERR unknown command\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n"}) {
    const FakeServer other(FakeOptions{.replies = {greeting}});
    check_refused(attempt(local("rediss", other.port()), trust()), 76, "does not speak TLS");
  }
  // A plain redis-server waits for the end of the line.
  Server plain;
  const Result result = attempt(local("rediss", plain.port()), trust(), "2s");
  check_refused(result, result.status == 76 ? 76 : 69, "speak TLS");
}

TEST_CASE("TLS: a plain connection to a port that speaks TLS is told in one line") {
  if (!can_use_tls()) return;
  TlsServer server;
  const Result result = attempt(local("redis", server.port()), {});
  check_refused(result, result.status == 76 ? 76 : 69, "TLS");
}

TEST_CASE("TLS: so is one whose time runs out between two tries") {
  if (!can_use_tls()) return;
  TlsServer server;
  const auto start = std::chrono::steady_clock::now();
  Process client(rlock_argv("-r", local("redis", server.port()), "--timeout", "4s", "exec", "job",
                            "--", "echo", "ran"));
  REQUIRE(wait_until([&] {  // it has heard of its first failure when it tries again
    const std::string log = server.plain().log();
    const std::string_view refusal = "Error accepting a client connection";
    return log.find(refusal) != log.rfind(refusal);
  }));
  client.signal(SIGSTOP);  // most of its time passes between two tries
  wait_until([&] { return std::chrono::steady_clock::now() - start > 5s; });
  client.signal(SIGCONT);
  check_refused(client.wait(), 69, "TLS");
}

TEST_CASE("TLS: a handshake that hangs costs the timeout") {
  if (!can_use_tls()) return;
  const FakeServer silent;
  check_refused(attempt(local("rediss", silent.port()), trust(), "1s"), 69,
                "no answer to the TLS handshake within 1s (--timeout)");
  TlsServer server;
  server.plain().pause();
  check_refused(attempt(server.url(), trust(), "1s"), 69,
                "no answer to the TLS handshake within 1s (--timeout)");
  server.plain().resume();
  const FakeServer gone(FakeOptions{.replies = {"\x16"}, .close_after = true});
  check_refused(attempt(local("rediss", gone.port()), trust(), "1s"), 69,
                "the server closed the connection");
  // A record that never ends.
  const FakeServer half(FakeOptions{.replies = {std::string("\x16\x03\x03\x00\x7a\x02\x00", 7)}});
  check_refused(attempt(local("rediss", half.port()), trust(), "1s"), 69,
                "no answer to the TLS handshake within 1s (--timeout)");
}

TEST_CASE("TLS: a handshake that hangs does not keep a signal waiting") {
  if (!can_use_tls()) return;
  const FakeServer silent;
  Process process(rlock_argv("-r", local("rediss", silent.port()), "--timeout", "10m", "exec",
                             "job", "--", "echo", "ran"));
  REQUIRE(wait_until([&] { return !silent.received().empty(); }));
  process.signal(SIGINT);
  const Result result = process.wait();
  CHECK(result.status == 128 + SIGINT);
  CHECK(result.out.empty());
}

TEST_CASE("TLS: a build without the module says so, and does not run a module of somebody else") {
  if (!can_use_tls()) return;
  const std::string url = local("rediss", free_port());
  const Copy copy;
  CHECK(has(run({copy.program(), "--version"}).out, "without TLS"));
  check_refused(copy.attempt(url), 78, "this build of rlock has no TLS");

  std::ofstream(copy.module()) << "no library\n";
  check_refused(copy.attempt(url), 78, "cannot use TLS: ");

  const auto module = std::filesystem::path(rlock_program()).parent_path() / "rlock-tls.so";
  std::filesystem::copy_file(module, copy.module(),
                             std::filesystem::copy_options::overwrite_existing);
  CHECK(has(run({copy.program(), "--version"}).out, "with TLS"));
  check_refused(copy.attempt(url), 69, "Connection refused");
  std::filesystem::permissions(copy.module(), std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  check_refused(copy.attempt(url), 78, "others may write to it");
}
