// Where the server is, and who asks: parsed from a URL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rlock::redis {

// An empty user means the server's default user; an empty password means no AUTH.
struct Credentials {
  std::string user;
  std::string password;
};

struct Endpoint {
  enum class Transport { tcp, unix_socket, local };

  Transport transport = Transport::tcp;
  std::string host;           // tcp: a name or an address, IPv6 without brackets
  std::uint16_t port = 6379;  // tcp
  std::string path;  // unix_socket: the socket; local: the directory, empty for the default
  int database = 0;
  Credentials credentials;

  // Returns the URL without user and password, percent-encoded: fit for messages, logs and JSON.
  [[nodiscard]] std::string display() const;
};

// Parses redis://[user[:password]@]host[:port][/db], unix:///path[?db=N], local: and local:/dir.
// Throws Error (usage) that says what is wrong and how it should look; never repeats a password.
[[nodiscard]] Endpoint parse_url(std::string_view url);

}  // namespace rlock::redis
