// All servers that keep data, with a client for each.
#pragma once

#include <deque>
#include <vector>

#include "redis/client.hpp"

namespace rlock::redis {

// A client for each master of a cluster, for the master that sentinels name, or for the one server.
// The set is fixed when this object is made. After a failover or a move, requests fail.
class Masters {
 public:
  // `whole` must outlive this object. Throws as Client::find_masters.
  explicit Masters(Client& whole);

  [[nodiscard]] const std::vector<Client*>& clients() const noexcept { return clients_; }

 private:
  std::deque<Client> own_;
  std::vector<Client*> clients_;
};

}  // namespace rlock::redis
