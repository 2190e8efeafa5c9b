// A TCP proxy that plays a bad network in front of a server.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "loopback_server.hpp"

namespace rlock::test {

enum class Mode {
  pass,             // everything goes through
  swallow_replies,  // requests go through, replies are thrown away (call cut() before pass again)
  blackhole,        // connections are accepted and nothing moves; it goes on when the mode changes
  refuse            // present and new connections are closed at once
};

// All functions are thread-safe, and a change is in force when the function returns: not one byte
// moves under the old setting after that.
class Proxy final : public LoopbackServer {
 public:
  // In front of a Unix socket, or of a port of 127.0.0.1. The server need not be there yet: a
  // connection for which it does not answer is closed. Throws std::system_error when it cannot
  // listen.
  explicit Proxy(std::string unix_path);
  explicit Proxy(std::uint16_t server_port);
  ~Proxy() override;

  void set_mode(Mode mode);
  // Leads new connections to another port of 127.0.0.1. Present connections stay where they are.
  void lead_to(std::uint16_t server_port);
  // Closes all present connections, also those not yet accepted.
  void cut();
  // A lost reply, once (in pass mode): forwards the next request that contains text (any, when it
  // is empty; looked for in one piece of up to 64 KiB, as read), waits for the server's reply,
  // drops it and closes that connection. cuts() tells when it has happened; then the mode is
  // `next`.
  void cut_after_next_request(std::string_view text = {}, Mode next = Mode::pass);
  // Each reply waits this long from now on; 0 switches it off.
  void set_delay(std::chrono::milliseconds delay);

  // Connections open now.
  [[nodiscard]] std::size_t open_connections() const;
  // RESP commands (their "*" headers) forwarded from clients.
  [[nodiscard]] std::size_t requests() const;
  // How often cut_after_next_request has closed a connection.
  [[nodiscard]] std::size_t cuts() const;
  // Bytes read from clients to forward, and bytes sent back to them.
  [[nodiscard]] std::size_t bytes_to_server() const;
  [[nodiscard]] std::size_t bytes_to_client() const;

 private:
  struct Connection;
  Proxy(std::string unix_path, std::uint16_t server_port);
  int watch(std::vector<pollfd>& fds) const override;
  void take(UniqueFd socket) override;
  void serve() override;
  void step(Connection& connection);
  bool connect_server(Connection& connection) const;
  void move_requests(Connection& connection);
  void move_replies(Connection& connection);
  void take_reply(Connection& connection, std::string data);

  std::string unix_path_;
  std::uint16_t server_port_;
  std::list<Connection> open_;
  bool armed_ = false;
  std::string armed_text_;
  Mode mode_ = Mode::pass, mode_after_cut_ = Mode::pass;
  std::chrono::milliseconds delay_{0};
  std::size_t requests_ = 0, cuts_ = 0, to_server_ = 0, to_client_ = 0;
};

}  // namespace rlock::test
