#include "fake_server.hpp"

#include <algorithm>
#include <poll.h>
#include <utility>

#include "net.hpp"

namespace rlock::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t k_most_kept = 65536;

}  // namespace

struct FakeServer::Connection {
  UniqueFd socket;
  std::string pending{};
  std::size_t answered = 0;
  Clock::time_point next_byte{};
  bool dead = false;
  explicit Connection(UniqueFd fd) : socket(std::move(fd)) {}
};

FakeServer::FakeServer(std::string reply, bool close_after)
    : FakeServer(FakeOptions{.replies = {std::move(reply)}, .close_after = close_after}) {}

FakeServer::FakeServer(FakeOptions options) : options_(std::move(options)) { start(); }

FakeServer::~FakeServer() { stop(); }

int FakeServer::watch(std::vector<pollfd>& fds) const {
  int timeout = -1;
  for (const Connection& connection : open_) {
    pollfd entry{connection.socket.get(), POLLIN, 0};
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(connection.next_byte - Clock::now()).count();
    if (!connection.pending.empty() && left <= 0) {
      entry.events = POLLIN | POLLOUT;
    } else if (!connection.pending.empty()) {
      timeout = earlier(timeout, left);
    }
    fds.push_back(entry);
  }
  return timeout;
}

void FakeServer::take(UniqueFd socket) { open_.emplace_back(std::move(socket)); }

void FakeServer::serve() {
  for (Connection& connection : open_) {
    take_request(connection);
    if (!connection.dead && !connection.pending.empty()) {
      send_pending(connection);
    }
  }
  open_.remove_if([](const Connection& connection) { return connection.dead; });
}

void FakeServer::take_request(Connection& connection) {
  std::string data;
  const IoState state = read_some(connection.socket.get(), data);
  if (state == IoState::closed) {
    connection.dead = true;
  }
  if (state != IoState::done) {
    return;
  }
  received_ += data.substr(0, k_most_kept - std::min(k_most_kept, received_.size()));
  if (connection.answered < options_.replies.size()) {
    connection.pending += options_.replies[connection.answered];
    ++connection.answered;
  }
}

void FakeServer::send_pending(Connection& connection) {
  const bool dripping = options_.drip.count() > 0;
  if (dripping && Clock::now() < connection.next_byte) {
    return;
  }
  const std::string_view data = connection.pending;
  std::size_t count = 0;
  if (send_some(connection.socket.get(), dripping ? data.substr(0, 1) : data, count) ==
      IoState::closed) {
    connection.dead = true;
    return;
  }
  sent_ += count;
  connection.pending.erase(0, count);
  connection.next_byte = Clock::now() + options_.drip;
  if (connection.pending.empty() && connection.answered == options_.replies.size()) {
    connection.dead = options_.close_after && !options_.stream;
    connection.pending.assign(options_.stream ? 65536 : 0, 'x');
  }
}

std::size_t FakeServer::open_connections() const {
  const std::scoped_lock lock(mutex_);
  return open_.size();
}

std::size_t FakeServer::sent() const {
  const std::scoped_lock lock(mutex_);
  return sent_;
}

std::string FakeServer::received() const {
  const std::scoped_lock lock(mutex_);
  return received_;
}

}  // namespace rlock::test
