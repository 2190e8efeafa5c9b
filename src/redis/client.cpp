#include "redis/client.hpp"

#include <algorithm>
#include <optional>

#include "redis/server_error.hpp"

namespace rlock::redis {
namespace {

constexpr Milliseconds k_pause_before_retry{50};

}  // namespace

Connection& Client::connect(TimePoint deadline) {
  if (!connection_ || out_of_step_) {
    // One that is out of step is kept until there is another: a server that hangs lets nobody log
    // in, but will read what was sent behind.
    connection_ =
        std::make_unique<Connection>(options_.endpoint, options_.name, options_.reply_limit,
                                     Patience{deadline, options_.wake_fd});
    out_of_step_ = false;
    was_connected_ = true;
  }
  return *connection_;
}

template <typename Action>
auto Client::insist(Action action, int* unanswered, TimePoint deadline) {
  while (true) {
    bool is_sent = false;
    try {
      Connection& connection = connect(deadline);
      out_of_step_ = is_sent = true;
      auto answer = action(connection);
      out_of_step_ = false;
      if (answer) return std::move(*answer);
    } catch (const Unavailable&) {
      if (is_sent && unanswered != nullptr) ++*unanswered;
      const TimePoint now = BootClock::now();
      // Before the deadline it is the connection that broke: nothing can be sent behind on it.
      if (now < deadline) disconnect();
      // Where a connection once was, one that breaks or is refused may be a restart: try again.
      if (!was_connected_ || after(now, k_pause_before_retry) >= deadline) throw;
    } catch (const Interrupted&) {
      if (is_sent && unanswered != nullptr) ++*unanswered;
      throw;
    } catch (const ProtocolError&) {
      if (is_sent && unanswered != nullptr) ++*unanswered;
      throw;
    }
    pause({after(BootClock::now(), k_pause_before_retry), options_.wake_fd});
  }
}

Reply Client::run(const Script& script, const ScriptArgs& call, int* unanswered,
                  TimePoint deadline) {
  deadline = std::min(deadline, after(BootClock::now(), options_.timeout));
  const auto action = [&](Connection& connection) -> std::optional<Reply> {
    Reply reply = run_script(connection, script, call, Patience{deadline, options_.wake_fd});
    if (reply.type != Reply::Type::error) return reply;
    out_of_step_ = false;
    // A private server that was just started reads its log of changes first: that is no fault.
    const bool starting = options_.endpoint.transport == Endpoint::Transport::local &&
                          reply.text.starts_with("LOADING");
    if (!starting || after(BootClock::now(), k_pause_before_retry) >= deadline) {
      throw ServerError(options_.endpoint.display(), reply.text);
    }
    return std::nullopt;
  };
  return insist(action, unanswered, deadline);
}

std::vector<Reply> Client::run_all(const Script& script, const std::vector<ScriptArgs>& calls) {
  const TimePoint deadline = after(BootClock::now(), options_.timeout);
  const auto action = [&](Connection& connection) {
    return std::optional(
        run_scripts(connection, script, calls, options_.timeout, options_.wake_fd));
  };
  return insist(action, nullptr, deadline);
}

Reply Client::command(const Args& args) {
  const TimePoint deadline = after(BootClock::now(), options_.timeout);
  const auto action = [&](Connection& connection) {
    return std::optional(connection.command(args, Patience{deadline, options_.wake_fd}));
  };
  return insist(action, nullptr, deadline);
}

std::vector<Reply> Client::commands(const std::vector<Args>& requests) {
  const TimePoint deadline = after(BootClock::now(), options_.timeout);
  const auto action = [&](Connection& connection) {
    return std::optional(connection.commands(requests, options_.timeout, options_.wake_fd));
  };
  return insist(action, nullptr, deadline);
}

template <typename Action>
bool Client::best_effort(Action action) noexcept {
  if (!connection_) return false;
  try {
    // Only what the socket's buffer takes at once: nobody waits for a courtesy.
    action(*connection_, Patience{BootClock::now()});
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void Client::close_gently(Milliseconds bound) noexcept {
  if (!connection_) return;
  try {
    connection_->finish(Patience{after(BootClock::now(), bound)});
  } catch (const std::exception&) {  // it is closed now, one way or the other
  }
  connection_.reset();
}

bool Client::send_behind(const Script& script, const ScriptArgs& call) noexcept {
  return best_effort([&](Connection& connection, const Patience& patience) {
    send_script(connection, script, call, patience);
  });
}

bool Client::send_behind(const Args& args) noexcept {
  return best_effort(
      [&](Connection& connection, const Patience& patience) { connection.send(args, patience); });
}

}  // namespace rlock::redis
