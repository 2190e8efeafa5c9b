// How a lock's state is asked for.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "redis/client.hpp"

namespace rlock::lock {

// The places of the reply.
enum Place : std::size_t {
  k_now,
  k_type,
  k_ttl,
  k_content,
  k_queue,
  k_scores,
  k_token,
  k_queue_type,
  k_scores_type,
  k_info_type,
  k_info,
  k_listeners,
  k_elsewhere,
  k_dead_readers,
  k_token_type,
  k_token_ttl,
  k_permits,
  k_permits_out,
  k_has_permits,
  k_listening,
  k_places
};

// Returns all that Redis holds about the lock `name` at one instant, as snapshot.lua does, but of a
// long queue in far less time. Throws as redis::Client::run.
[[nodiscard]] redis::Reply request_snapshot(redis::Client& client, const std::string& name);

// The same of many locks, each at an instant of its own, in one round trip where none has a long
// queue. Returns a reply for each name, which may be an error. Throws as redis::Client::run_all.
[[nodiscard]] std::vector<redis::Reply> request_snapshots(redis::Client& client,
                                                          const std::vector<std::string>& names);

}  // namespace rlock::lock
