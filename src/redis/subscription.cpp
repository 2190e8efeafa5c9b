#include "redis/subscription.hpp"

#include <poll.h>

#include "redis/server_error.hpp"

namespace rlock::redis {

Subscription::Subscription(const ClientOptions& options, const std::vector<std::string>& channels)
    : connection_(options.endpoint, options.name, options.reply_limit,
                  Patience{after(BootClock::now(), options.timeout), options.wake_fd}) {
  const Patience patience{after(BootClock::now(), options.timeout), options.wake_fd};
  for (const std::string& channel : channels) {
    const Reply reply = connection_.command({"SUBSCRIBE", channel}, patience);
    if (reply.type == Reply::Type::error) {
      throw ServerError(options.endpoint.display(), reply.text);
    }
    if (reply.as_array(3)[0].as_text() != "subscribe") {
      throw ProtocolError("no confirmation of a subscription");
    }
  }
}

std::vector<std::string> Subscription::drain() {
  std::vector<std::string> channels;
  while (auto reply = connection_.try_receive()) {
    const auto& items = reply->as_array(3);
    if (items[0].as_text() == "message") channels.push_back(items[1].as_text());
  }
  return channels;
}

}  // namespace rlock::redis
