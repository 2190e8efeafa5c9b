// A server that answers nonsense.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "fd.hpp"

struct pollfd;

namespace rlock::test {

struct FakeOptions {
  // The n-th piece of data that a connection receives is answered by the n-th reply; what comes
  // later by nothing. Empty: never answers.
  std::vector<std::string> replies{};
  bool close_after = false;           // close the connection behind the last reply
  bool stream = false;                // behind the last reply: 'x' bytes until the peer closes
  std::chrono::milliseconds drip{0};  // when not 0: one byte at a time, with this pause behind it
};

// Listens on 127.0.0.1 on a free port, in a thread of its own; serves any number of connections.
class FakeServer {
 public:
  // Throws std::system_error when it cannot listen.
  explicit FakeServer(FakeOptions options = {});
  // One reply to the first data received.
  explicit FakeServer(std::string reply, bool close_after);
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;
  // Closes everything and joins the thread.
  ~FakeServer();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }
  // Connections accepted so far, and those open now.
  [[nodiscard]] std::size_t connections() const;
  [[nodiscard]] std::size_t open_connections() const;
  // Bytes sent so far.
  [[nodiscard]] std::size_t sent() const;
  // What was received, from all connections in order of arrival; the first 64 KiB.
  [[nodiscard]] std::string received() const;

 private:
  struct Connection;
  void loop();
  int watch(std::vector<pollfd>& fds) const;
  void accept_all();
  void step(Connection& connection);
  void take_request(Connection& connection);
  void send_pending(Connection& connection);

  mutable std::mutex mutex_;
  FakeOptions options_;
  std::uint16_t port_ = 0;
  UniqueFd listener_, wake_;
  std::list<Connection> open_;
  bool stopping_ = false;
  std::size_t accepted_ = 0, sent_ = 0;
  std::string received_;
  std::thread thread_;
};

}  // namespace rlock::test
