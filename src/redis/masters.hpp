// All servers that keep data, with a client for each.
#pragma once

#include <deque>
#include <functional>
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

  // Calls `use` with each client in turn, also after it has thrown Error for another. Then throws
  // the first Error.
  void for_each(const std::function<void(Client&)>& use) const;

 private:
  std::deque<Client> own_;
  std::vector<Client*> clients_;
};

}  // namespace rlock::redis
