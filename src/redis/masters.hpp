// All the servers that keep data, each for itself.
#pragma once

#include <deque>
#include <vector>

#include "redis/client.hpp"

namespace rlock::redis {

// A client for each master of a cluster, for the master that sentinels tell of, or for the one
// server. They are those of now: a failover or a move makes their requests fail.
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
