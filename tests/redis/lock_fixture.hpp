// What the tests of the scripts have in common.
#pragma once

#include <string>
#include <vector>

#include "lock/inspection/force_release.hpp"
#include "lock/kinds/plain.hpp"
#include "lock/kinds/single_server_lock.hpp"
#include "redis/client.hpp"
#include "redis/url.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

namespace rlock::test {

// Returns a client of `server`, by its Unix socket. It is patient: a busy machine is slow.
inline redis::Client client_of(const Server& server, Milliseconds timeout = Milliseconds(30'000)) {
  redis::ClientOptions options;
  options.endpoint = redis::parse_url(server.unix_url());
  options.timeout = timeout;
  return redis::Client(options);
}

// Returns the lock "job" as `owner` sees it.
inline lock::SingleServerLock make_lock(const std::string& owner,
                                        Milliseconds lease = Milliseconds(30'000)) {
  return {lock::plain_operations("job"), owner, lock::About{"web1", 42, "ann", "backup"}, lease};
}

// Breaks the lock "job". Returns the owners whom it was taken from.
inline Words breaks(redis::Client& client,
                    lock::ForceReleaseTarget what = lock::ForceReleaseTarget::lock) {
  Words owners;
  const lock::ForceRelease result = lock::break_lock(client, "job", what);
  for (const lock::Holder& holder : result.found.holders) owners.push_back(holder.owner);
  return owners;
}

}  // namespace rlock::test
