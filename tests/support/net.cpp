#include "net.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <random>
#include <string>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <system_error>
#include <vector>

namespace rlock::test {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

UniqueFd new_socket(int family) {
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) {
    fail("socket");
  }
  return fd;
}

sockaddr_in loopback4(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

template <class Address>
const sockaddr* generic(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

bool can_bind4(std::uint16_t port) {
  const UniqueFd fd = new_socket(AF_INET);
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = loopback4(port);
  return ::bind(fd.get(), generic(address), sizeof address) == 0;
}

bool can_bind6(std::uint16_t port) {
  const UniqueFd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) {
    return false;
  }
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  address.sin6_addr = in6addr_loopback;
  return ::bind(fd.get(), generic(address), sizeof address) == 0;
}

// SO_SNDTIMEO bounds connect(2) on Linux.
void bound_connect(int fd, time_t seconds) {
  timeval bound{};
  bound.tv_sec = seconds;
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
}

// Returns whether no other test has this port, and keeps it for this one: a server that is down
// must find its port free when it comes back.
bool reserve(std::uint16_t port) {
  static std::vector<UniqueFd> reserved;  // until the process ends
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "rlock-test-port-" + std::to_string(port);
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // abstract: nothing of it is left
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const UniqueFd fd = new_socket(AF_UNIX);
  if (::bind(fd.get(), generic(address), length) != 0) return false;
  constexpr int k_out_of_the_way = 100;  // a shell only knows descriptors of one digit
  reserved.emplace_back(::fcntl(fd.get(), F_DUPFD_CLOEXEC, k_out_of_the_way));
  return true;
}

}  // namespace

void set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
    fail("fcntl O_NONBLOCK");
  }
}

UniqueFd listen_loopback(std::uint16_t& port) {
  UniqueFd fd = new_socket(AF_INET);
  sockaddr_in address = loopback4(0);
  socklen_t size = sizeof address;
  if (::bind(fd.get(), generic(address), sizeof address) != 0 || ::listen(fd.get(), 128) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    fail("listen on 127.0.0.1");
  }
  set_nonblocking(fd.get());
  port = ntohs(address.sin_port);
  return fd;
}

UniqueFd connect_loopback(std::uint16_t port) {
  UniqueFd fd = new_socket(AF_INET);
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  bound_connect(fd.get(), 5);
  const sockaddr_in address = loopback4(port);
  if (::connect(fd.get(), generic(address), sizeof address) != 0) {
    fail("connect to 127.0.0.1:" + std::to_string(port));
  }
  return fd;
}

UniqueFd connect_unix(const std::string& path) {
  UniqueFd fd = new_socket(AF_UNIX);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    fail(path);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  bound_connect(fd.get(), 5);
  if (::connect(fd.get(), generic(address), sizeof address) != 0) {
    fail("connect to " + path);
  }
  return fd;
}

bool has_ipv6() {
  static const bool yes = can_bind6(0);
  return yes;
}

std::uint16_t free_port() {
  std::random_device device;
  std::uniform_int_distribution<int> ports(10'000, 32'000);
  for (int tries = 0; tries < 1000; ++tries) {
    const auto port = static_cast<std::uint16_t>(ports(device));
    if (can_bind4(port) && (!has_ipv6() || can_bind6(port)) && reserve(port)) {
      return port;
    }
  }
  errno = EADDRINUSE;
  fail("no free port");
}

IoState read_some(int fd, std::string& into, std::size_t limit) {
  char buffer[65536];
  while (true) {
    const ssize_t got = ::read(fd, buffer, std::min(limit, sizeof buffer));
    if (got > 0) {
      into.append(buffer, static_cast<std::size_t>(got));
      return IoState::done;
    }
    if (got < 0 && errno == EINTR) {
      continue;
    }
    return got < 0 && errno == EAGAIN ? IoState::again : IoState::closed;
  }
}

IoState send_some(int fd, std::string_view data, std::size_t& sent) {
  sent = 0;
  while (true) {
    const ssize_t put = ::send(fd, data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put >= 0) {
      sent = static_cast<std::size_t>(put);
      return IoState::done;
    }
    if (errno == EINTR) {
      continue;
    }
    return errno == EAGAIN ? IoState::again : IoState::closed;
  }
}

}  // namespace rlock::test
