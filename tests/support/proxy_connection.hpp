// One connection through a Proxy; private to proxy.cpp and proxy_control.cpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <sys/socket.h>
#include <utility>

#include "fd.hpp"
#include "proxy.hpp"
#include "resp.hpp"

namespace rlock::test {

// Bytes for the client and the time from which they may go.
struct DueReply {
  std::chrono::steady_clock::time_point due;
  std::string data;
};

struct Proxy::Connection {
  UniqueFd client, server;
  RequestCounter counter{};
  std::string to_server{};
  std::deque<DueReply> to_client{};
  std::size_t pending = 0;  // bytes in to_client
  bool client_ended = false, server_ended = false, shut = false, losing = false, dead = false;

  explicit Connection(UniqueFd socket) : client(std::move(socket)) {}

  // Both peers see the end at once; the thread closes the descriptors later.
  void kill() {
    dead = true;
    ::shutdown(client.get(), SHUT_RDWR);
    if (server) {
      ::shutdown(server.get(), SHUT_RDWR);
    }
  }
};

}  // namespace rlock::test
