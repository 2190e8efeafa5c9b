// A server that answers nonsense.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <string>
#include <vector>

#include "loopback_server.hpp"

namespace rlock::test {

struct FakeOptions {
  // The n-th piece of data that a connection receives is answered by the n-th reply; what comes
  // later by nothing. Empty: never answers.
  std::vector<std::string> replies{};
  bool close_after = false;           // close the connection behind the last reply
  bool stream = false;                // behind the last reply: 'x' bytes until the peer closes
  std::chrono::milliseconds drip{0};  // when not 0: one byte at a time, with this pause behind it
};

class FakeServer final : public LoopbackServer {
 public:
  // Throws std::system_error when it cannot listen.
  explicit FakeServer(FakeOptions options = {});
  // One reply to the first data received.
  explicit FakeServer(std::string reply, bool close_after);
  // Closes everything.
  ~FakeServer() override;

  // Connections open now.
  [[nodiscard]] std::size_t open_connections() const;
  // Bytes sent so far.
  [[nodiscard]] std::size_t sent() const;
  // What was received, from all connections in order of arrival; the first 64 KiB.
  [[nodiscard]] std::string received() const;

 private:
  struct Connection;
  int watch(std::vector<pollfd>& fds) const override;
  void take(UniqueFd socket) override;
  void serve() override;
  void take_request(Connection& connection);
  void send_pending(Connection& connection);

  FakeOptions options_;
  std::list<Connection> open_;
  std::size_t sent_ = 0;
  std::string received_;
};

}  // namespace rlock::test
