// Sends requests to the server that keeps the data. The connection is opened at the first request,
// and again when it breaks or another server keeps the data now.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/connection.hpp"
#include "redis/connection_pool.hpp"
#include "redis/script.hpp"

namespace rlock::redis {

// How to talk to the server.
struct ClientOptions : ConnectionOptions {
  Milliseconds timeout{3000};     // for connecting and one request together
  const char* timeout_from = "";  // as Deadline::from
  int wake_fd = -1;               // if readable: stop waiting, throw Interrupted

  // Returns the deadline of a request that starts now. It ends at `latest` at the latest.
  [[nodiscard]] Deadline deadline(TimePoint latest = TimePoint::max()) const;
};

// How long a cached answer about the current master stays valid. So a usual request asks once.
inline constexpr Milliseconds k_age_of_word{500};

// Not thread-safe: use one client for each thread.
class Client {
 public:
  explicit Client(ClientOptions options);

  // Runs a script and returns its reply. If the connection breaks, or the server cannot carry out
  // the request now (READONLY, BUSY, for example), the request is sent again on a new connection,
  // so the script must bear being sent again. Nothing is sent after `latest`, or after the
  // client's timeout, even if the process was stopped. In a cluster, the request goes to the node
  // of the first key. With sentinels, it goes to the master. `unanswered`, if given, counts the
  // requests that were sent and got no answer. Throws Unavailable, ServerError, ProtocolError,
  // Interrupted, and Error (usage) if the keys lie in several slots of a cluster.
  Reply run(const ScriptCall& call, int* unanswered = nullptr, TimePoint latest = TimePoint::max());

  // Runs scripts that only read, in one round trip. Each reply has the client's timeout. Returns
  // the replies in order. They may be errors. In a cluster, each node takes a round trip of its
  // own. Throws Unavailable, ProtocolError, Interrupted.
  std::vector<Reply> run_all(const std::vector<ScriptCall>& calls);

  // Sends a command, in a cluster to the node that keeps `key`. It must bear being sent again.
  // Returns the reply, also an error. Throws Unavailable, ProtocolError, Interrupted.
  Reply command(const Args& args, std::string_view key = "");

  // The same for several commands in one round trip. Each command has the client's timeout. All of
  // them may be sent again together. Returns the replies in order.
  std::vector<Reply> commands(const std::vector<Args>& requests, std::string_view key = "");

  [[nodiscard]] bool is_cluster() const noexcept { return pool_.is_cluster(); }
  // Returns how many connections were opened so far. It changes when another server answers now.
  [[nodiscard]] int opened() const noexcept { return pool_.opened(); }
  // Returns the node of a cluster that keeps `key`, and "" for other servers. Throws as `command`.
  [[nodiscard]] std::string node_of(std::string_view key) {
    return pool_.owner(slot_of(key), options_.deadline());
  }

  // Connects, if there is no connection yet. Throws as `command`.
  void connect();

  // As ConnectionPool::confirm_master, for the slot of `key`. The answer must come by `deadline`.
  bool confirm_master(std::string_view key, Milliseconds age, TimePoint deadline) {
    return pool_.confirm_master(slot_of(key), age, {deadline, options_.wake_fd});
  }

  // As Connection::set_meanwhile, for the next `run` or `command`.
  void set_meanwhile(std::function<void()> action) { meanwhile_ = std::move(action); }

  // Sends a script or a command after the last request, on the same connection, without waiting
  // for an answer. Returns false if that fails.
  bool send_pipelined(const ScriptCall& call) noexcept;
  bool send_pipelined(const Args& args) noexcept;

  // Returns whether the last request has no answer yet, and its connection is still open.
  [[nodiscard]] bool awaits_answer() noexcept {
    return pool_.last() != nullptr && pool_.reply_pending();
  }

  // Waits until `count` replicas have what the last request wrote, at most for `bound`. Returns how
  // many have it, 0 if the connection of that request is gone. Throws as `run`.
  std::int64_t wait_for_replicas(int count, Milliseconds bound);

  // Closes the connection when the server has read everything that was sent, or after `bound`.
  // (Closing with a reply unread resets a TCP connection, and the server may drop requests.)
  void close_gently(Milliseconds bound) noexcept;

  // Closes all connections. The next request opens a new one.
  void disconnect() noexcept { pool_.close(); }

  // Returns the servers that keep data, each as a single server: the masters of a cluster, the
  // master that sentinels name, or the one server. Throws as `command`.
  [[nodiscard]] std::vector<Endpoint> find_masters();

  // Sets which descriptor ends a wait early (-1: none), and how long each request may take.
  void set_wake_fd(int fd) noexcept { options_.wake_fd = fd; }
  void set_timeout(Milliseconds timeout) noexcept { options_.timeout = timeout; }

  [[nodiscard]] const ClientOptions& options() const noexcept { return options_; }

 private:
  // Calls `action` with a connection to the node of `slot`. If the connection breaks, calls it
  // again with a new one, until it returns something.
  template <typename Action>
  auto with_retries(int slot, Action action, int* unanswered, const Deadline& deadline);
  [[nodiscard]] bool is_to_be_made_again(const Reply& reply, TimePoint deadline);
  [[noreturn]] void refuse(const std::string& error) const;
  [[nodiscard]] ScriptCall complete(const ScriptCall& call) const;
  void run_some(const std::vector<ScriptCall>& calls, const std::vector<std::size_t>& which,
                std::vector<Reply>& replies);
  template <typename Action>
  bool best_effort(Milliseconds bound, Action action) noexcept;

  ClientOptions options_;
  ConnectionPool pool_;
  std::function<void()> meanwhile_;
  std::string turned_away_;  // the error for which the present request is sent again, or empty
};

}  // namespace rlock::redis
