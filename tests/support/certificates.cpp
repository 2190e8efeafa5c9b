#include "certificates.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <stdlib.h>

#include "net.hpp"
#include "process.hpp"
#include "support/words.hpp"

namespace rlock::test {
namespace {

const Words k_new_key = {"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"};
const std::string k_localhost = "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1";

class Workshop {
 public:
  Workshop() {
    std::string path = (std::filesystem::temp_directory_path() / "rlock-tls-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("mkdtemp");
    directory_ = path;
    make_own("ca", {});
    make_own("other-ca", {});
    make_own("self-signed", {"-addext", k_localhost});
    make("server", "ca", k_localhost);
    make_expired("expired", k_localhost);
    make("elsewhere", "ca", "subjectAltName=DNS:redis.example.org");
    make("client", "ca", "");
    make("stranger", "other-ca", "");
    openssl({"ec", "-in", file("client.key"), "-out", file("locked.key"), "-aes128", "-passout",
             "pass:secret"});
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  ~Workshop() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  [[nodiscard]] std::string file(const std::string& name) const { return directory_ / name; }

 private:
  static void openssl(Words words) {
    words.insert(words.begin(), "openssl");
    const Result result = run(words);
    if (result.status != 0) throw std::runtime_error("openssl " + words[1] + ": " + result.err);
  }

  void make_own(const std::string& name, const Words& more) const {
    Words words = {"req",     "-x509",
                   "-days",   "30",
                   "-subj",   "/CN=" + name,
                   "-keyout", file(name + ".key"),
                   "-out",    file(name + ".pem")};
    words.insert(words.end(), k_new_key.begin(), k_new_key.end());
    words.insert(words.end(), more.begin(), more.end());
    openssl(words);
  }

  // Makes NAME.key, a request in NAME.csr, and NAME.ext.
  void request(const std::string& name, const std::string& extension) const {
    Words words = {"req",     "-new",
                   "-subj",   "/CN=" + name,
                   "-keyout", file(name + ".key"),
                   "-out",    file(name + ".csr")};
    words.insert(words.end(), k_new_key.begin(), k_new_key.end());
    openssl(words);
    std::ofstream(file(name + ".ext")) << extension << '\n';
  }

  void make(const std::string& name, const std::string& issuer,
            const std::string& extension) const {
    request(name, extension);
    openssl({"x509", "-req", "-in", file(name + ".csr"), "-CA", file(issuer + ".pem"), "-CAkey",
             file(issuer + ".key"), "-CAcreateserial", "-days", "30", "-extfile",
             file(name + ".ext"), "-out", file(name + ".pem")});
  }

  // Only `openssl ca` takes dates of the past, in every version.
  void make_expired(const std::string& name, const std::string& extension) const {
    request(name, extension);
    std::ofstream(file("index.txt")).flush();
    std::ofstream(file("ca.conf"))
        << "[ca]\ndefault_ca = own\n[own]\ndatabase = " << file("index.txt")
        << "\nnew_certs_dir = " << directory_.string()
        << "\ndefault_md = sha256\nrand_serial = yes\npolicy = any\n"
           "[any]\ncommonName = supplied\n";
    openssl({"ca",         "-batch",
             "-notext",    "-rand_serial",
             "-config",    file("ca.conf"),
             "-in",        file(name + ".csr"),
             "-cert",      file("ca.pem"),
             "-keyfile",   file("ca.key"),
             "-startdate", "20200101000000Z",
             "-enddate",   "20200201000000Z",
             "-extfile",   file(name + ".ext"),
             "-out",       file(name + ".pem")});
  }

  std::filesystem::path directory_;
};

std::string server_program() {
  const char* chosen = std::getenv("RLOCK_TEST_SERVER");
  return chosen != nullptr && *chosen != '\0' ? chosen : "redis-server";
}

std::string why_not() {
  if (run(rlock_argv("--version")).out.find("with TLS") == std::string::npos) {
    return "this build of rlock has no TLS";
  }
  // The first directive that the server does not know ends it.
  const Result result =
      run({server_program(), "--port", "0", "--tls-port", "0", "--no-such-directive", "1"});
  const std::string said = result.out + result.err;
  return said.find("'tls-port") == std::string::npos ? "" : server_program() + " has no TLS";
}

}  // namespace

std::string certificate_file(const std::string& name) {
  static const Workshop workshop;
  return workshop.file(name);
}

bool can_use_tls() {
  static const std::string why = why_not();
  if (!why.empty()) std::cout << "skipped: " << why << '\n';
  return why.empty();
}

TlsServer::TlsServer(const TlsServerOptions& options) {
  for (int tries = 0; !server_; ++tries) {
    port_ = free_port();
    ServerOptions plain;
    plain.args = {"--tls-port",         std::to_string(port_),
                  "--tls-cert-file",    certificate_file(options.certificate + ".pem"),
                  "--tls-key-file",     certificate_file(options.certificate + ".key"),
                  "--tls-ca-cert-file", certificate_file("ca.pem"),
                  "--tls-auth-clients", options.asks_clients ? "yes" : "no"};
    plain.args.insert(plain.args.end(), options.args.begin(), options.args.end());
    try {
      server_ = std::make_unique<Server>(plain);
    } catch (const std::runtime_error&) {  // somebody else may have taken the port
      if (tries >= 3) throw;
    }
  }
}

}  // namespace rlock::test
