#include "redis/likeness.hpp"

#include <arpa/inet.h>
#include <cctype>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace rlock::redis {
namespace {

using Transport = Endpoint::Transport;

struct Host {
  std::string text;  // one for all ways to write it
  bool is_here;      // on this machine, as everybody can see
};

Host host_of(const sockaddr_in6& socket) {
  const in6_addr& address = socket.sin6_addr;
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(AF_INET6, &address, text, sizeof text);
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    const std::string_view number = std::string_view(text).substr(sizeof "::ffff:" - 1);
    return {text, number.starts_with("127.") || number == "0.0.0.0"};
  }
  return {text + ("%" + std::to_string(socket.sin6_scope_id)),
          IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_UNSPECIFIED(&address)};
}

Host host_of(std::string name) {
  addrinfo hints{};
  hints.ai_family = AF_INET6;  // for which an IPv4 address is written ::ffff:192.0.2.1
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_V4MAPPED;
  addrinfo* list = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &list) == 0) {
    Host host = host_of(*reinterpret_cast<const sockaddr_in6*>(list->ai_addr));
    ::freeaddrinfo(list);
    return host;
  }
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (name.ends_with('.')) name.pop_back();
  const bool is_here = name == "localhost";
  return {std::move(name), is_here};
}

bool is_same_socket(const std::string& one, const std::string& other) {
  struct stat first {};
  struct stat second {};
  if (::stat(one.c_str(), &first) != 0 || ::stat(other.c_str(), &second) != 0) return one == other;
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace

Likeness compare(const Endpoint& one, const Endpoint& other) {
  const bool is_unix = one.transport == Transport::unix_socket;
  const bool is_other_unix = other.transport == Transport::unix_socket;
  // A server has at most one Unix socket.
  if (is_unix && is_other_unix) {
    return is_same_socket(one.path, other.path) ? Likeness::same : Likeness::different;
  }
  const Host host = is_unix ? Host{"", true} : host_of(one.host);
  const Host other_host = is_other_unix ? Host{"", true} : host_of(other.host);
  const bool has_same_port = !is_unix && !is_other_unix && one.port == other.port;
  if (has_same_port && host.text == other_host.text) return Likeness::same;
  const bool is_one_machine = (host.is_here && other_host.is_here) || host.text == other_host.text;
  // A server may listen at several addresses, but at one port for each way to speak to it.
  const bool fits = has_same_port || one.transport != other.transport;
  return is_one_machine && fits ? Likeness::possible : Likeness::different;
}

}  // namespace rlock::redis
