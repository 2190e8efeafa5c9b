// Requests to whoever keeps the data: on a connection that is opened when first needed, and again
// when it breaks or somebody else keeps the data now.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "redis/client_options.hpp"
#include "redis/connection.hpp"
#include "redis/links.hpp"
#include "redis/script.hpp"

namespace rlock::redis {

// Not thread-safe: each thread has a client of its own.
class Client {
 public:
  explicit Client(ClientOptions options);

  // Runs a script and returns its reply. A request whose connection breaks is sent again on a new
  // one, so the script must bear that. Nothing is sent after `deadline`, or the client's timeout,
  // even if the process was stopped. In a cluster it goes to where the first key is, with sentinels
  // to the master. `unanswered`, if given, counts the requests that were sent and got no answer.
  // Throws Unavailable, ServerError, ProtocolError, Interrupted, and Error (usage) if the keys lie
  // in several slots of a cluster.
  Reply run(const ScriptCall& call, int* unanswered = nullptr,
            TimePoint deadline = TimePoint::max());

  // Runs a script, which must only read, once for each of `calls`, with one round trip for all.
  // Each reply has the client's timeout. Returns the replies in order; they may be errors. Of a
  // cluster, each node has a round trip of its own.
  // Throws Unavailable, ProtocolError, Interrupted.
  std::vector<Reply> run_all(const Script& script, const std::vector<ScriptArgs>& calls);

  // Sends a command, which must bear being sent again; in a cluster to the node that keeps `key`.
  // Returns the reply, which may be an error. Throws Unavailable, ProtocolError, Interrupted.
  Reply command(const Args& args, std::string_view key = "");

  // The same for several in one go, each of which has the client's timeout, and which must bear
  // being sent again together. Returns the replies in order.
  std::vector<Reply> commands(const std::vector<Args>& requests, std::string_view key = "");

  // Connects, unless it did so before. Throws as `command`.
  void connect();

  // See Links; the sentinels have until `deadline`.
  bool confirm_master(Milliseconds age, TimePoint deadline) {
    return links_.confirm_master(age, {deadline, options_.wake_fd});
  }

  // Sends a script, or a command, on the connection that the last request went out on, behind it,
  // without waiting for an answer. Returns false if that could not be done.
  bool send_behind(const ScriptCall& call) noexcept;
  bool send_behind(const Args& args) noexcept;

  // Returns whether the last request has got no answer yet, on a connection that is still there.
  [[nodiscard]] bool awaits_answer() noexcept {
    return links_.last() != nullptr && links_.is_out_of_step();
  }

  // Waits until `count` replicas know of what the last request has written, `bound` at the most.
  // Returns how many do; 0 if the connection is gone that it was written on. Throws as `run`.
  std::int64_t wait_for_replicas(int count, Milliseconds bound);

  // Closes the connection after the server has read all that was sent; waits `bound` at the most.
  // (Closing with a reply unread resets a TCP connection, and the server may drop requests.)
  void close_gently(Milliseconds bound) noexcept;

  // Closes all connections; the next request opens a new one.
  void disconnect() noexcept { links_.close(); }

  // Returns where the servers are that keep data, each as a single one: the masters of a cluster.
  // Throws as `command`.
  [[nodiscard]] std::vector<Endpoint> find_masters();

  // From now on nothing (-1) or another descriptor ends a wait early; each request has so long.
  void set_wake_fd(int fd) noexcept { options_.wake_fd = fd; }
  void set_timeout(Milliseconds timeout) noexcept { options_.timeout = timeout; }

  [[nodiscard]] const ClientOptions& options() const noexcept { return options_; }

 private:
  // Does `action` on a connection to where `slot` is, and again on a new one when that breaks,
  // until it returns something.
  template <typename Action>
  auto insist(int slot, Action action, int* unanswered, const Patience& patience);
  [[nodiscard]] bool is_to_be_made_again(const Reply& reply, TimePoint deadline);
  [[noreturn]] void refuse_slot(const std::string& error) const;
  [[nodiscard]] ScriptArgs complete(const ScriptCall& call) const;
  void run_some(const Script& script, const std::vector<ScriptArgs>& calls,
                const std::vector<std::size_t>& which, std::vector<Reply>& replies);
  template <typename Action>
  bool best_effort(Action action) noexcept;

  ClientOptions options_;
  Links links_;
  std::string turned_away_;  // by what error about a slot the present request was, if it was
};

}  // namespace rlock::redis
