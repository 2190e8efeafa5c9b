#include "redis/connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include "redis/local_server.hpp"
#include "redis/server_error.hpp"

namespace rlock::redis {
namespace {

// hiredis prints each length with snprintf, which is 4 % of the instructions of a short run.
std::string format(const Args& args) {
  std::string request = "*" + std::to_string(args.size()) + "\r\n";
  for (const std::string_view arg : args) {
    (request += "$" + std::to_string(arg.size()) + "\r\n").append(arg) += "\r\n";
  }
  return request;
}

Fd connect_socket(const Endpoint& endpoint, const Deadline& deadline) {
  using enum Endpoint::Transport;
  if (endpoint.transport == unix_socket) return connect_unix(endpoint.path, deadline);
  if (endpoint.transport == local) return connect_local(endpoint.path, deadline);
  if (endpoint.transport == tcp) return connect_tcp(endpoint, deadline);
  throw Error(ExitStatus::internal, endpoint.display() + ": not a single server");
}

std::unique_ptr<Stream> connect(const Endpoint& endpoint, const Deadline& deadline) {
  try {
    if (endpoint.transport == Endpoint::Transport::tls) return connect_tls(endpoint, deadline);
    const bool is_tcp = endpoint.transport == Endpoint::Transport::tcp;
    return plain_stream(connect_socket(endpoint, deadline), endpoint.display(),
                        is_tcp ? " (if that port expects TLS, use rediss://)" : "");
  } catch (const Unavailable& error) {
    throw Unavailable("cannot reach redis at " + endpoint.display() + ": " + error.what() +
                      endpoint.from);
  }
}

// Returns whether this reply refuses the connection. What follows it says less.
bool is_refusal(const Reply& reply) {
  if (!reply.is_error()) return false;
  const std::string& text = reply.text;
  return text.starts_with("NOAUTH") || text.starts_with("DENIED") ||
         text.starts_with("ERR max number of clients");
}

// Returns a server's error without what it may repeat of the request.
std::string without(const std::string& password, std::string error) {
  error = error.substr(0, error.find(", with args"));
  for (std::size_t at = 0;
       !password.empty() && (at = error.find(password, at)) != std::string::npos;) {
    error.replace(at, password.size(), "***");
    at += 3;
  }
  return error;
}

}  // namespace

Connection::Connection(const ConnectionOptions& options, const Deadline& deadline)
    : server_(options.endpoint.display()),
      stream_(connect(options.endpoint, deadline)),
      parser_(options.reply_limit) {
  authenticate(options.endpoint, deadline);
  // Nobody waits for the answer: an ACL may forbid it, and the name is a courtesy.
  unsent_ = format({"CLIENT", "SETNAME", options.name});
  ++unwanted_;
}

void Connection::authenticate(const Endpoint& endpoint, const Deadline& deadline) {
  const Credentials& who = endpoint.credentials;
  std::string request;
  std::size_t replies = 0;
  if (!who.user.empty() || !who.password.empty()) {
    request += who.user.empty() ? format({"AUTH", who.password})
                                : format({"AUTH", who.user, who.password});
    ++replies;
  }
  if (endpoint.database != 0) {
    request += format({"SELECT", std::to_string(endpoint.database)});
    ++replies;
  }
  // rlock must wait here. A command that is sent after a failed AUTH or SELECT would run as
  // another user or in another database.
  if (replies > 0) write(request, deadline);
  for (; replies > 0; --replies) {
    const Reply reply = receive(deadline);
    if (reply.is_error()) throw ServerError(server_, without(who.password, reply.text));
  }
}

Reply Connection::command(const Args& args, const Deadline& deadline) {
  write(format(args), deadline);
  if (meanwhile_) std::exchange(meanwhile_, nullptr)();
  skip_unwanted(deadline);
  return receive(deadline);
}

std::vector<Reply> Connection::commands(const std::vector<Args>& requests, const Deadline& each) {
  const auto next = [&] { return again(each); };
  std::string bytes;
  for (const Args& request : requests) bytes += format(request);
  write(bytes, next());
  skip_unwanted(next());
  std::vector<Reply> replies;
  while (replies.size() < requests.size()) replies.push_back(receive(next()));
  return replies;
}

void Connection::send(const Args& args, const Deadline& deadline) {
  write(format(args), deadline);
  ++unwanted_;
}

void Connection::finish(const Deadline& deadline) {
  for (Stream::Step step; (step = stream_->end()).wait_for != 0;) {
    if (!wait_for(stream_->fd(), step.wait_for, deadline)) return;
  }
  while (true) {
    const short events = read_some();
    if (events != 0 && !wait_for(stream_->fd(), events, deadline)) return;
  }
}

std::optional<Reply> Connection::try_receive(int& reads) {
  while (true) {
    while (auto reply = next_reply()) {
      if (unwanted_ == 0) return reply;
      --unwanted_;
    }
    if (reads == 0 || read_some() != 0) return std::nullopt;
    --reads;
  }
}

void Connection::skip_unwanted(const Deadline& deadline) {
  for (; unwanted_ > 0; --unwanted_) {
    const Reply reply = receive(deadline);
    if (is_refusal(reply)) throw ServerError(server_, reply.text);
  }
}

Reply Connection::receive(const Deadline& deadline) {
  short events = POLLIN;
  while (true) {
    if (auto reply = next_reply()) return std::move(*reply);
    if (!stream_->has_read_ahead() && !wait_for(stream_->fd(), events, deadline)) {
      throw Unavailable("no answer from redis at " + server_ + " " + in_time(deadline));
    }
    events = read_some();
    if (events == 0) events = POLLIN;
  }
}

void Connection::write(std::string_view bytes, const Deadline& deadline) {
  std::string together;
  if (!unsent_.empty()) bytes = together = unsent_ + std::string(bytes);
  while (!bytes.empty()) {
    // No byte goes out late: the last one is what has a request carried out.
    if (BootClock::now() >= deadline.when) {
      throw Unavailable("redis at " + server_ + " does not accept a request " + in_time(deadline));
    }
    const Stream::Step step = stream_->write(bytes);
    bytes.remove_prefix(step.bytes);
    if (step.bytes > 0) unsent_.clear();
    if (step.wait_for != 0) static_cast<void>(wait_for(stream_->fd(), step.wait_for, deadline));
  }
}

void Connection::abort() noexcept {
  const linger at_once{1, 0};
  ::setsockopt(stream_->fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  stream_.reset();
}

// Feeds the parser with what has arrived. Returns 0, or if that is nothing, the events to wait for.
short Connection::read_some() {
  const Stream::Step step = stream_->read({buffer_.get(), k_buffer_size});
  const std::string_view bytes(buffer_.get(), step.bytes);
  is_http_ = is_http_ || bytes.starts_with("HTTP/");
  try {
    parser_.feed(bytes);
  } catch (const ProtocolError& error) {
    refuse(error);
  }
  return step.wait_for;
}

std::optional<Reply> Connection::next_reply() {
  try {
    return parser_.next();
  } catch (const ProtocolError& error) {
    refuse(error);
  }
}

// Says which server it was.
void Connection::refuse(const ProtocolError& error) const {
  throw ProtocolError(server_, is_http_ ? "an HTTP server answers there, not Redis" : error.what());
}

std::unique_ptr<Connection> connect_node(const ConnectionOptions& options, const HostAndPort& node,
                                         const Deadline& deadline) {
  return std::make_unique<Connection>(
      ConnectionOptions{options.endpoint.of(node), options.name, options.reply_limit}, deadline);
}

}  // namespace rlock::redis
