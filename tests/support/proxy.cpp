#include "proxy.hpp"

#include <algorithm>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <utility>

#include "net.hpp"
#include "proxy_connection.hpp"

namespace rlock::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t k_most_pending = 1 << 20;

}  // namespace

Proxy::Proxy(std::string unix_path) : Proxy(std::move(unix_path), 0) {}
Proxy::Proxy(std::uint16_t server_port) : Proxy("", server_port) {}

Proxy::Proxy(std::string unix_path, std::uint16_t server_port)
    : unix_path_(std::move(unix_path)), server_port_(server_port) {
  start();
}

Proxy::~Proxy() { stop(); }

int Proxy::watch(std::vector<pollfd>& fds) const {
  int timeout = -1;
  for (const Connection& connection : open_) {
    if (connection.dead) {
      return 0;
    }
    if (mode_ == Mode::blackhole) {
      continue;
    }
    pollfd client{connection.client.get(), 0, 0};
    pollfd server{connection.server.get(), 0, 0};
    if (!connection.client_ended && connection.to_server.size() < k_most_pending) {
      client.events = POLLIN;
    }
    if (!connection.server_ended && connection.pending < k_most_pending) {
      server.events = POLLIN;
    }
    if (!connection.to_server.empty()) {
      server.events = static_cast<short>(server.events | POLLOUT);
    }
    if (!connection.to_client.empty()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(
          connection.to_client.front().due - Clock::now());
      if (left.count() <= 0) {
        client.events = static_cast<short>(client.events | POLLOUT);
      } else {
        timeout = earlier(timeout, left.count());
      }
    }
    for (const pollfd& fd : {client, server}) {
      if (fd.events != 0) {  // A descriptor without events could report POLLHUP forever.
        fds.push_back(fd);
      }
    }
  }
  return timeout;
}

void Proxy::take(UniqueFd socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  open_.emplace_back(std::move(socket));
}

void Proxy::serve() {
  for (Connection& connection : open_) {
    step(connection);
  }
  open_.remove_if([](const Connection& connection) { return connection.dead; });
}

bool Proxy::connect_server(Connection& connection) const {
  try {
    connection.server =
        unix_path_.empty() ? connect_loopback(server_port_) : connect_unix(unix_path_);
    set_nonblocking(connection.server.get());
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void Proxy::step(Connection& connection) {
  if (connection.dead || mode_ == Mode::blackhole) {
    return;
  }
  if (mode_ == Mode::refuse || (!connection.server && !connect_server(connection))) {
    connection.kill();
    return;
  }
  move_requests(connection);
  if (!connection.dead) {
    move_replies(connection);
  }
}

void Proxy::move_requests(Connection& connection) {
  if (!connection.client_ended && connection.to_server.size() < k_most_pending) {
    std::string data;
    connection.client_ended = read_some(connection.client.get(), data) == IoState::closed;
    if (armed_ && mode_ == Mode::pass && !data.empty() &&
        data.find(armed_text_) != std::string::npos) {
      armed_ = false;
      connection.losing = true;
    }
    requests_ += connection.counter.feed(data);
    to_server_ += data.size();
    connection.to_server += data;
  }
  if (!connection.to_server.empty()) {
    std::size_t sent = 0;
    if (send_some(connection.server.get(), connection.to_server, sent) == IoState::closed) {
      connection.to_server.clear();  // What the server had replied before can still be read.
    }
    connection.to_server.erase(0, sent);
  }
  if (connection.client_ended && connection.to_server.empty() && !connection.shut) {
    connection.shut = true;
    ::shutdown(connection.server.get(), SHUT_WR);
  }
}

void Proxy::take_reply(Connection& connection, std::string data) {
  if (data.empty() || mode_ == Mode::swallow_replies) {
    return;
  }
  if (connection.losing && connection.to_server.empty() && !connection.counter.inside()) {
    ++cuts_;
    mode_ = mode_after_cut_;
    connection.kill();
    return;
  }
  connection.pending += data.size();
  connection.to_client.push_back({Clock::now() + delay_, std::move(data)});
}

void Proxy::move_replies(Connection& connection) {
  if (mode_ == Mode::swallow_replies) {
    connection.to_client.clear();
    connection.pending = 0;
  }
  if (!connection.server_ended && connection.pending < k_most_pending) {
    std::string data;
    connection.server_ended = read_some(connection.server.get(), data) == IoState::closed;
    take_reply(connection, std::move(data));
  }
  while (!connection.dead && !connection.to_client.empty() &&
         connection.to_client.front().due <= Clock::now()) {
    std::string& data = connection.to_client.front().data;
    std::size_t sent = 0;
    const IoState state = send_some(connection.client.get(), data, sent);
    data.erase(0, sent);
    connection.pending -= sent;
    to_client_ += sent;
    if (state == IoState::closed) {
      connection.kill();
    }
    if (!data.empty()) {
      break;
    }
    connection.to_client.pop_front();
  }
  if (connection.server_ended && connection.to_client.empty()) {
    connection.kill();
  }
}

}  // namespace rlock::test
