// The connections of one thread to the server that keeps the locks, or to several.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lock/servers/absentees.hpp"
#include "lock/servers/node.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

struct SessionOptions {
  SessionOptions() = default;
  // One server.
  SessionOptions(redis::ClientOptions one)  // NOLINT(google-explicit-constructor): the usual case
      : client(std::move(one)), servers{client.endpoint} {}

  redis::ClientOptions client;           // how to speak to each server; its endpoint is the first's
  std::vector<redis::Endpoint> servers;  // independent of each other: a majority grants a lock
  // Of all sessions that are made of these options.
  std::shared_ptr<Absentees> absentees = std::make_shared<Absentees>();

  // Several servers: none may use up more than a tenth of a lease of `length`.
  void shorten_timeout(Milliseconds length);
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
  // Returns the servers, in order, where there are several; otherwise nothing.
  [[nodiscard]] const std::vector<std::unique_ptr<Node>>& nodes() const noexcept { return nodes_; }

  // Returns whether two of them may be one and the same, which only their answers can tell.
  [[nodiscard]] bool has_look_alikes() const noexcept { return has_look_alikes_; }
  // Throws Refused if two of them were found to be one.
  void refuse_twins() const;
  // Returns where to note which of them fail.
  [[nodiscard]] const std::shared_ptr<Absentees>& absentees() const noexcept { return absentees_; }

  // Waits until each of several servers has answered all that it was asked, for half a second at
  // the most. For a process that ends, where no other gives a server what it has missed.
  void settle();

  [[nodiscard]] int wake_fd() const noexcept { return client_.options().wake_fd; }
  // Returns the servers' URLs without user and password.
  [[nodiscard]] const std::string& display() const noexcept { return display_; }

  // From now on nothing (-1) or another descriptor ends a wait early.
  void set_wake_fd(int fd) noexcept { client_.set_wake_fd(fd); }

 private:
  redis::Client client_;
  std::string display_;
  bool has_look_alikes_ = false;
  std::shared_ptr<Absentees> absentees_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace rlock::lock
