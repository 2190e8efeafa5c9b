// A connection that is opened when first needed and opened again when it breaks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "redis/connection.hpp"
#include "redis/script.hpp"
#include "redis/url.hpp"

namespace rlock::redis {

struct ClientOptions {
  Endpoint endpoint;
  Milliseconds timeout{3000};  // bound on connecting and on each command
  std::string name = "rlock";  // shown in CLIENT LIST
  int wake_fd = -1;            // readable: stop waiting, throw Interrupted
  std::size_t reply_limit = k_small_reply;
};

// Not thread-safe: each thread has a client of its own.
class Client {
 public:
  explicit Client(ClientOptions options) : options_(std::move(options)) {}

  // Runs a script and returns its reply. A request whose connection breaks is sent again on a new
  // one, so `script` must bear that; none is sent later than `deadline`, or the client's timeout.
  // `unanswered`, if given, counts the requests that were sent and got no answer.
  // Throws Unavailable, ServerError, ProtocolError, Interrupted.
  Reply run(const Script& script, const ScriptArgs& call, int* unanswered = nullptr,
            TimePoint deadline = TimePoint::max());

  // Runs a script, which must only read, once for each of `calls`, with one round trip for all.
  // Each reply has the client's timeout. Returns the replies in order; they may be errors.
  // Throws Unavailable, ProtocolError, Interrupted.
  std::vector<Reply> run_all(const Script& script, const std::vector<ScriptArgs>& calls);

  // Sends a command, which must bear being sent again. Returns the reply, which may be an error.
  // Throws Unavailable, ProtocolError, Interrupted.
  Reply command(const Args& args);

  // Sends commands in one go, which must bear being sent again together, and each of which has the
  // client's timeout. Returns the replies in order; they may be errors.
  // Throws Unavailable, ProtocolError, Interrupted.
  std::vector<Reply> commands(const std::vector<Args>& requests);

  // Sends a script, or a command, on the connection that the last request went out on, behind it,
  // without waiting for an answer. Returns false if that could not be done.
  bool send_behind(const Script& script, const ScriptArgs& call) noexcept;
  bool send_behind(const Args& args) noexcept;

  // Closes the connection after the server has read all that was sent; waits `bound` at the most.
  // (Closing with a reply unread resets a TCP connection, and the server may drop requests.)
  void close_gently(Milliseconds bound) noexcept;

  // Closes the connection; the next request opens a new one.
  void disconnect() noexcept { connection_.reset(); }

  // From now on nothing (-1) or another descriptor ends a wait early.
  void set_wake_fd(int fd) noexcept { options_.wake_fd = fd; }

  // From now on each request has so long.
  void set_timeout(Milliseconds timeout) noexcept { options_.timeout = timeout; }

  [[nodiscard]] const ClientOptions& options() const noexcept { return options_; }

 private:
  Connection& connect(TimePoint deadline);
  // Does `action` on a connection, and again on a new one when that breaks, until it returns
  // something.
  template <typename Action>
  auto insist(Action action, int* unanswered, TimePoint deadline);
  template <typename Action>
  bool best_effort(Action action) noexcept;

  ClientOptions options_;
  std::unique_ptr<Connection> connection_;
  bool out_of_step_ = false;  // a reply is outstanding: good for send_behind only
  bool was_connected_ = false;
};

}  // namespace rlock::redis
