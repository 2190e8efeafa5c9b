// A throw-away redis-server on a Unix socket, whose clock stands still where the caller sets it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <sys/types.h>

#include "explore/store.hpp"

struct redisContext;

namespace rlock::explore {

// One connection. Throws std::runtime_error when it is lost.
class Connection {
 public:
  explicit Connection(const std::string& socket);
  Connection(Connection&&) = default;

  // Sends without waiting; each is answered by one read, in order.
  void send(const Words& words);
  Reply read();
  Reply ask(const Words& words) {
    send(words);
    return read();
  }

 private:
  std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
};

class Server {
 public:
  // Starts a server. Its process ends with this object, and with the thread that made it. Throws
  // std::runtime_error if it does not start, or does not follow the clock.
  explicit Server(const std::string& program);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] Connection connect() const;
  // In milliseconds.
  void set_clock(std::int64_t now_ms);

 private:
  void start(const std::string& program);
  void end() noexcept;

  std::filesystem::path folder_;
  volatile std::int64_t* clock_us_ = nullptr;
  pid_t pid_ = -1;
};

}  // namespace rlock::explore
