// The connections of one thread to the server, or to the several servers, that keep the locks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lock/servers/node.hpp"
#include "lock/servers/unreachable_servers.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

struct SessionOptions {
  SessionOptions() = default;
  // One server.
  SessionOptions(redis::ClientOptions one)  // NOLINT(google-explicit-constructor): the usual case
      : client(std::move(one)), servers{client.endpoint} {}

  redis::ClientOptions client;           // for each server; its endpoint is the first server's
  std::vector<redis::Endpoint> servers;  // independent of each other: a majority grants a lock
  // Shared by all sessions that are made from these options.
  std::shared_ptr<UnreachableServers> unreachable = std::make_shared<UnreachableServers>();

  // Several servers: limits the timeout to a tenth of a lease of `length` (50 ms at least), which
  // is then from `from` (as redis::Deadline::from).
  void shorten_timeout(Milliseconds length, const char* from);
};

// Not thread-safe: each thread has a session of its own.
class Session {
 public:
  explicit Session(const SessionOptions& options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Returns the client of the only server.
  [[nodiscard]] redis::Client& client() noexcept { return client_; }
  // Returns a node for each of several servers, in order. Empty for a single server.
  [[nodiscard]] const std::vector<std::unique_ptr<Node>>& nodes() const noexcept { return nodes_; }

  // Returns whether two of the servers may be twins. Only their answers can tell.
  [[nodiscard]] bool may_have_duplicates() const noexcept { return may_have_duplicates_; }
  // Throws Error (usage) if twins were found among the servers.
  void refuse_twins() const;
  // Returns the notes about servers that fail.
  [[nodiscard]] const std::shared_ptr<UnreachableServers>& unreachable() const noexcept {
    return unreachable_;
  }

  // Waits until each of several servers has answered all requests, for half a second at most. For a
  // process that ends and leaves the lock: nobody heals a server that missed a request.
  void settle();

  [[nodiscard]] int wake_fd() const noexcept { return client_.options().wake_fd; }
  // Returns the servers' URLs without user and password.
  [[nodiscard]] const std::string& display() const noexcept { return display_; }

  // Sets the descriptor that ends a wait early when it becomes readable (-1: none).
  void set_wake_fd(int fd) noexcept { client_.set_wake_fd(fd); }

 private:
  redis::Client client_;
  std::string display_;
  bool may_have_duplicates_ = false;
  std::shared_ptr<UnreachableServers> unreachable_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace rlock::lock
