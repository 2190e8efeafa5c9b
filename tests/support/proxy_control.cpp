// The controls and counters of Proxy: what tests call from their own thread.
#include <algorithm>

#include "proxy.hpp"
#include "proxy_connection.hpp"

namespace rlock::test {

void Proxy::set_mode(Mode mode) {
  const std::scoped_lock lock(mutex_);
  mode_ = mode;
  if (mode == Mode::refuse) {
    for (Connection& connection : open_) {
      connection.kill();
    }
  }
  wake();
}

void Proxy::lead_to(std::uint16_t server_port) {
  const std::scoped_lock lock(mutex_);
  accept_all();
  serve();  // connects those that were just accepted
  server_port_ = server_port;
}

void Proxy::cut() {
  const std::scoped_lock lock(mutex_);
  accept_all();
  for (Connection& connection : open_) {
    connection.kill();
  }
  wake();
}

void Proxy::cut_after_next_request(std::string_view text, Mode next) {
  const std::scoped_lock lock(mutex_);
  armed_ = true;
  mode_after_cut_ = next;
  armed_text_ = text;
}

void Proxy::set_delay(std::chrono::milliseconds delay) {
  const std::scoped_lock lock(mutex_);
  delay_ = delay;
}

std::size_t Proxy::open_connections() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(open_.begin(), open_.end(), [](const Connection& one) { return !one.dead; }));
}

std::size_t Proxy::requests() const {
  const std::scoped_lock lock(mutex_);
  return requests_;
}

std::size_t Proxy::cuts() const {
  const std::scoped_lock lock(mutex_);
  return cuts_;
}

std::size_t Proxy::bytes_to_server() const {
  const std::scoped_lock lock(mutex_);
  return to_server_;
}

std::size_t Proxy::bytes_to_client() const {
  const std::scoped_lock lock(mutex_);
  return to_client_;
}

}  // namespace rlock::test
