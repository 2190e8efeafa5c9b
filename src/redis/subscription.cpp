#include "redis/subscription.hpp"

#include <poll.h>
#include <utility>

#include "redis/server_error.hpp"

namespace rlock::redis {
namespace {

// Returns the message that `reply` is, or nothing if it is something else.
std::optional<Message> to_message(const Reply& reply) {
  const auto& items = reply.as_array(3);
  if (items[0].as_text() != "message") return std::nullopt;
  return Message{items[1].as_text(), items[2].as_text()};
}

}  // namespace

Subscription::Subscription(const ClientOptions& options, const std::vector<std::string>& channels)
    : options_(options),
      connection_(options.endpoint, options.name, options.reply_limit,
                  Patience{after(BootClock::now(), options.timeout), options.wake_fd}) {
  if (const auto error = subscribe(channels)) throw ServerError(options.endpoint.display(), *error);
}

bool Subscription::add(const std::vector<std::string>& channels) { return !subscribe(channels); }

// Returns the server's error if it refuses.
std::optional<std::string> Subscription::subscribe(const std::vector<std::string>& channels) {
  const Patience patience{after(BootClock::now(), options_.timeout), options_.wake_fd};
  Args request = {"SUBSCRIBE"};
  request.insert(request.end(), channels.begin(), channels.end());
  Reply reply = connection_.command(request, patience);
  std::size_t confirmed = 0;
  while (reply.type != Reply::Type::error) {
    if (auto message = to_message(reply)) {
      early_.push_back(std::move(*message));
    } else if (reply.items[0].as_text() != "subscribe") {
      throw ProtocolError("no confirmation of a subscription");
    } else if (++confirmed == channels.size()) {
      return std::nullopt;
    }
    reply = receive(patience);
  }
  return reply.text;
}

Reply Subscription::receive(const Patience& patience) {
  while (true) {
    if (auto reply = connection_.try_receive()) return std::move(*reply);
    if (!wait_for(connection_.fd(), POLLIN, patience)) {
      throw Unavailable("no answer from redis at " + options_.endpoint.display() + " in time");
    }
  }
}

std::vector<Message> Subscription::drain() {
  std::vector<Message> messages = std::exchange(early_, {});
  while (const auto reply = connection_.try_receive()) {
    if (auto message = to_message(*reply)) messages.push_back(std::move(*message));
  }
  return messages;
}

}  // namespace rlock::redis
