#include "redis/masters.hpp"

#include <exception>

#include "base/error.hpp"

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

void Masters::for_each(const std::function<void(Client&)>& use) const {
  std::exception_ptr failure;
  for (Client* client : clients_) {
    try {
      use(*client);
    } catch (const Error&) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace rlock::redis
