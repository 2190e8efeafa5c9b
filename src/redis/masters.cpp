#include "redis/masters.hpp"

namespace rlock::redis {

Masters::Masters(Client& whole) {
  const Endpoint::Transport transport = whole.options().endpoint.transport;
  if (transport != Endpoint::Transport::cluster && transport != Endpoint::Transport::sentinel) {
    clients_.push_back(&whole);
    return;
  }
  for (const Endpoint& master : whole.find_masters()) {
    ClientOptions options = whole.options();
    options.endpoint = master;
    clients_.push_back(&own_.emplace_back(std::move(options)));
  }
}

}  // namespace rlock::redis
