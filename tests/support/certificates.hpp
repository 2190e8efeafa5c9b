// Certificates, made by the command openssl, and a redis-server that shows one of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server.hpp"

namespace rlock::test {

// The files are made once for a run of the program, and removed at its end:
//   ca.pem, other-ca.pem      two authorities
//   server.pem, server.key    for localhost, 127.0.0.1 and ::1, by ca; as are
//   expired                   (years ago), and
//   elsewhere                 (for redis.example.org only)
//   self-signed               for localhost, by itself
//   client, stranger          for clients, by ca and by other-ca
//   locked.key                client.key behind a passphrase
// Returns the path of one. Throws std::runtime_error when openssl cannot make them.
std::string certificate_file(const std::string& name);

// False, with a message that says why, where rlock or the server was built without TLS.
bool can_use_tls();

struct TlsServerOptions {
  std::string certificate = "server";
  bool asks_clients = false;  // for a certificate by ca
  std::vector<std::string> args{};
};

// A Server with a port for TLS besides the others.
class TlsServer {
 public:
  // Throws std::runtime_error when it does not start.
  explicit TlsServer(const TlsServerOptions& options = {});

  [[nodiscard]] Server& plain() { return *server_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url(const std::string& host = "localhost") const {
    return "rediss://" + host + ":" + std::to_string(port_);
  }

 private:
  std::uint16_t port_ = 0;
  std::unique_ptr<Server> server_;
};

}  // namespace rlock::test
