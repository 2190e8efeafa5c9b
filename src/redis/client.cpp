#include "redis/client.hpp"

#include <exception>
#include <map>
#include <optional>

#include "base/escape.hpp"
#include "redis/server_error.hpp"

namespace rlock::redis {
namespace {

constexpr Milliseconds k_pause_before_retry{50};
// If the last attempt had less time than this and timed out, the error of the attempt before it is
// reported.
constexpr Milliseconds k_fair_try{200};
// Time limit for requests whose reply nobody waits for. As a rule the socket's buffer takes them at
// once.
constexpr Milliseconds k_courtesy{250};
// Nodes that send to one another in a circle do not yet agree who keeps the slot.
constexpr int k_most_redirections = 4;

int slot_of_call(const ScriptCall& call) { return call.keys.empty() ? 0 : slot_of(call.keys[0]); }

// A node would refuse the one script and carry out the other: a lock that nobody can release.
void check_slots(const ScriptCall& call) {
  const int slot = slot_of_call(call);
  for (const std::string& key : call.keys) {
    if (slot_of(key) == slot) continue;
    throw Error(ExitStatus::usage, escape_for_terminal(call.keys[0]) +
                                       ": bad name for a cluster: with these braces the lock's "
                                       "keys would lie in different slots");
  }
}

}  // namespace

Deadline ClientOptions::deadline(TimePoint latest) const {
  const TimePoint now = BootClock::now();
  const TimePoint usual = after(now, timeout);
  if (usual <= latest) return {usual, wake_fd, timeout, timeout_from};
  return {latest, wake_fd, std::chrono::ceil<Milliseconds>(latest - now)};
}

Client::Client(ClientOptions options) : options_(std::move(options)), pool_(options_) {}

template <typename Action>
auto Client::with_retries(int slot, Action action, int* unanswered, const Deadline& deadline) {
  const TimePoint end = deadline.when;
  int redirections = 0;
  turned_away_.clear();
  std::exception_ptr failure;  // of the last try: it says more than that time has passed
  // The process may have been stopped since it last looked at the clock, in a pause say.
  const auto check_time = [&] {
    if (BootClock::now() < end) return;
    if (!turned_away_.empty()) refuse(turned_away_);
    if (failure) std::rethrow_exception(failure);
    throw Unavailable("no answer from redis at " + pool_.display() + " " + in_time(deadline));
  };
  while (true) {
    bool is_sent = false;
    const TimePoint begun = BootClock::now();
    try {
      check_time();
      Connection& connection = pool_.open(slot, deadline);
      check_time();
      is_sent = true;
      pool_.begin();
      if (meanwhile_) connection.set_meanwhile(std::exchange(meanwhile_, nullptr));
      auto answer = action(connection);
      pool_.end();
      if (answer) return std::move(*answer);
      if (pool_.is_redirected() && ++redirections <= k_most_redirections) continue;
    } catch (const Unavailable&) {
      if (is_sent && unanswered != nullptr) ++*unanswered;
      const TimePoint now = BootClock::now();
      // Before the deadline it is the connection that broke: nothing can be sent after it there.
      // But that another node of a cluster cannot be reached says nothing of it.
      if (now < end && (is_sent || !pool_.is_cluster())) pool_.drop_broken();
      const bool had_little_time = after(begun, k_fair_try) > end;
      // What the sentinels say tells more than the refusal of a server.
      if (options_.endpoint.transport == Endpoint::Transport::sentinel) turned_away_.clear();
      // Where a connection once was, one that breaks or is refused may be a restart: try again.
      if (!pool_.has_been_there() || after(now, k_pause_before_retry) >= end) {
        if (!turned_away_.empty()) refuse(turned_away_);  // and that was why time ran out
        if (had_little_time && failure) std::rethrow_exception(failure);
        throw;
      }
      failure = std::current_exception();
    } catch (const ServerError& error) {
      // A server that is BUSY or LOADING refuses SELECT, too.
      const bool is_late = after(BootClock::now(), k_pause_before_retry) >= end;
      if (pool_.is_cluster() || is_late || !pool_.is_turned_away(error.code())) throw;
      failure = std::current_exception();
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

// Returns whether the server did not carry out the request that got this reply, and time is left to
// send it again, to another node or later.
bool Client::is_to_be_made_again(const Reply& reply, TimePoint deadline) {
  if (!reply.is_error() || !pool_.is_turned_away(reply.text) ||
      after(BootClock::now(), k_pause_before_retry) >= deadline) {
    return false;
  }
  turned_away_ = reply.text;
  return true;
}

void Client::refuse(const std::string& error) const {
  if (!pool_.is_cluster() || !ConnectionPool::is_about_slot(error)) {
    throw ServerError(pool_.display(), error);
  }
  throw Unavailable(pool_.display() + ": a slot is being moved, or its master is away (" +
                    escape_for_terminal(error) + ")");
}

// In a cluster, a script publishes in both ways (PUBLISH and SPUBLISH), because Redisson listens in
// one of them. It also learns whether keys may still be on their way to this node.
ScriptCall Client::complete(const ScriptCall& call) const {
  ScriptCall whole = call;
  if (pool_.is_cluster() && call.script.voice == Script::Voice::publishes) {
    whole.args.emplace_back(pool_.is_asking() ? "asking" : "sharded");
  }
  return whole;
}

Reply Client::run(const ScriptCall& call, int* unanswered, TimePoint latest) {
  if (pool_.is_cluster()) check_slots(call);
  const Deadline deadline = options_.deadline(latest);
  const auto action = [&](Connection& connection) -> std::optional<Reply> {
    Reply reply = run_script(connection, complete(call), deadline, pool_.is_asking());
    if (is_to_be_made_again(reply, deadline.when)) return std::nullopt;
    return reply;
  };
  Reply reply = with_retries(slot_of_call(call), action, unanswered, deadline);
  if (reply.is_error()) refuse(reply.text);  // or no time was left to send it again
  return reply;
}

void Client::connect() {
  if (pool_.has_been_there()) return;
  pool_.open(0, options_.deadline());
}

std::vector<Reply> Client::run_all(const std::vector<ScriptCall>& calls) {
  std::vector<Reply> replies(calls.size());
  std::map<std::string, std::vector<std::size_t>> groups;
  const Deadline deadline = options_.deadline();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    groups[pool_.owner(slot_of_call(calls[i]), deadline)].push_back(i);
  }
  for (const auto& [node, which] : groups) run_some(calls, which, replies);
  return replies;
}

// Runs the calls whose keys one node keeps: `which` are their indices.
void Client::run_some(const std::vector<ScriptCall>& calls, const std::vector<std::size_t>& which,
                      std::vector<Reply>& replies) {
  std::vector<ScriptCall> some;
  some.reserve(which.size());
  for (const std::size_t i : which) some.push_back(calls[i]);
  const Deadline deadline = options_.deadline();
  const auto action = [&](Connection& connection) -> std::optional<std::vector<Reply>> {
    auto answers = run_scripts(connection, some, deadline);
    for (const Reply& reply : answers) {
      if (ConnectionPool::is_about_slot(reply.text)) continue;  // see below
      if (is_to_be_made_again(reply, deadline.when)) return std::nullopt;
    }
    return answers;
  };
  std::vector<Reply> answers = with_retries(slot_of_call(some[0]), action, nullptr, deadline);
  for (std::size_t i = 0; i < which.size(); ++i) {
    Reply& reply = replies[which[i]];
    reply = std::move(answers[i]);
    if (!pool_.is_cluster() || !reply.is_error() || !ConnectionPool::is_about_slot(reply.text))
      continue;
    try {  // it has just moved, say
      reply = run(some[i]);
    } catch (const ServerError&) {  // then that answer stands
    } catch (const Unavailable&) {
      if (turned_away_.empty()) throw;  // one whose slot is being moved hides no other
    }
  }
}

Reply Client::command(const Args& args, std::string_view key) {
  const Deadline deadline = options_.deadline();
  const auto action = [&](Connection& connection) -> std::optional<Reply> {
    if (pool_.is_asking()) connection.send({"ASKING"}, deadline);
    Reply reply = connection.command(args, deadline);
    if (is_to_be_made_again(reply, deadline.when)) return std::nullopt;
    return reply;
  };
  return with_retries(slot_of(key), action, nullptr, deadline);
}

std::vector<Reply> Client::commands(const std::vector<Args>& requests, std::string_view key) {
  const Deadline deadline = options_.deadline();
  const auto action = [&](Connection& connection) -> std::optional<std::vector<Reply>> {
    auto replies = connection.commands(requests, deadline);
    for (const Reply& reply : replies) {
      // ASKING goes before one command, not before several.
      if (reply.text.starts_with("ASK ")) continue;
      if (is_to_be_made_again(reply, deadline.when)) return std::nullopt;
    }
    return replies;
  };
  return with_retries(slot_of(key), action, nullptr, deadline);
}

std::int64_t Client::wait_for_replicas(int count, Milliseconds bound) {
  Connection* const connection = pool_.last();
  if (connection == nullptr || pool_.reply_pending()) return 0;
  const TimePoint deadline = after(after(BootClock::now(), bound), options_.timeout);
  pool_.begin();
  const Reply reply =
      connection->command({"WAIT", std::to_string(count), std::to_string(bound.count())},
                          Deadline{deadline, options_.wake_fd});
  pool_.end();
  if (reply.is_error()) throw ServerError(pool_.display(), reply.text);
  return reply.as_integer();
}

template <typename Action>
bool Client::best_effort(Milliseconds bound, Action action) noexcept {
  if (pool_.last() == nullptr) return false;
  try {
    action(*pool_.last(), Deadline{after(BootClock::now(), bound)});
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void Client::close_gently(Milliseconds bound) noexcept {
  if (pool_.last() == nullptr) return;
  best_effort(
      bound, [](Connection& connection, const Deadline& deadline) { connection.finish(deadline); });
  pool_.close();
}

bool Client::send_pipelined(const ScriptCall& call) noexcept {
  return best_effort(k_courtesy, [&](Connection& connection, const Deadline& deadline) {
    send_script(connection, complete(call), deadline);
  });
}

bool Client::send_pipelined(const Args& args) noexcept {
  return best_effort(k_courtesy, [&](Connection& connection, const Deadline& deadline) {
    connection.send(args, deadline);
  });
}

std::vector<Endpoint> Client::find_masters() { return pool_.masters(options_.deadline()); }

}  // namespace rlock::redis
