// The thread of a server for tests: it accepts connections, serves them, and stops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "fd.hpp"

struct pollfd;

namespace rlock::test {

// Listens on 127.0.0.1 on a free port, in a thread of its own; serves any number of connections.
// A derived class keeps the connections and says what to do with them. Its constructor ends with
// start(), and its destructor begins with stop().
class LoopbackServer {
 public:
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }
  // Connections accepted so far.
  [[nodiscard]] std::size_t connections() const;

 protected:
  // Throws std::system_error when it cannot listen.
  LoopbackServer();
  virtual ~LoopbackServer() = default;

  void start();
  // Joins the thread.
  void stop();
  // The thread looks at all connections again.
  void wake() const;
  // Takes whoever has connected. Needs the mutex.
  void accept_all();

  // Guards everything; the thread has it locked unless it polls.
  mutable std::mutex mutex_;

 private:
  // All three are called with the mutex locked.
  // Adds the descriptors to poll. Returns the timeout in ms, -1 without one.
  virtual int watch(std::vector<pollfd>& fds) const = 0;
  virtual void take(UniqueFd socket) = 0;
  // Reads and writes what can be read and written now, and drops the connections that have ended.
  virtual void serve() = 0;
  void loop();

  std::uint16_t port_ = 0;
  UniqueFd listener_, wake_;
  bool stopping_ = false;
  std::size_t accepted_ = 0;
  std::thread thread_;
};

// Returns the shorter of two timeouts for poll(2), in ms: `timeout`, of which -1 means none, and
// `left`, of which a minute counts at most.
int earlier(int timeout, long long left);

}  // namespace rlock::test
