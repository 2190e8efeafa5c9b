// The address of a server, with user and password, parsed from a URL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rlock::redis {

// An empty user means the server's default user; an empty password means no AUTH.
struct Credentials {
  std::string user;
  std::string password;
};

struct HostAndPort {
  std::string host;  // a name or an address, IPv6 without brackets
  std::uint16_t port = 0;

  // Returns "host:port", percent-encoded, with brackets around IPv6.
  [[nodiscard]] std::string display() const;
  bool operator==(const HostAndPort&) const = default;
};

// Files in PEM.
struct TlsFiles {
  std::string authorities;  // trusted authorities or certificates; empty: the system's
  std::string certificate;  // of the client; empty: none
  std::string key;          // of the client; empty: none
};

struct Endpoint {
  // tls: encrypted. sentinel: the master that sentinels name. cluster: the node of the key.
  enum class Transport { tcp, tls, unix_socket, local, sentinel, cluster };

  Transport transport = Transport::tcp;
  std::string host{};                // tcp, tls: a name or an address, IPv6 without brackets
  std::uint16_t port = 6379;         // tcp, tls
  std::vector<HostAndPort> seeds{};  // sentinel: the sentinels; cluster: some nodes
  std::string master{};              // sentinel: its name
  std::string path{};  // unix_socket: the socket; local: the directory, empty for the default
  int database = 0;
  Credentials credentials{};
  TlsFiles tls_files{};
  const char* from = "";  // where the address is from, for the message that it cannot be reached

  // Returns the URL without user and password, percent-encoded, for messages, logs and JSON.
  [[nodiscard]] std::string display() const;
  // Returns the endpoint of one server of it: TCP, with the same credentials and database.
  [[nodiscard]] Endpoint of(const HostAndPort& node) const;
};

// Parses a URL of one of the forms in `k_syntax` (url.cpp). Throws Error (usage). Its message says
// what is wrong and what the URL should look like, and never contains a password.
[[nodiscard]] Endpoint parse_url(std::string_view url);

}  // namespace rlock::redis
