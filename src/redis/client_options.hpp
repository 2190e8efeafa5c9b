// How a Client talks to its server.
#pragma once

#include <cstddef>
#include <string>

#include "redis/connection.hpp"
#include "redis/socket.hpp"
#include "redis/url.hpp"

namespace rlock::redis {

struct ClientOptions {
  Endpoint endpoint;
  Milliseconds timeout{3000};     // bound on connecting and on each command
  const char* timeout_from = "";  // as in Patience
  std::string name = "rlock";     // shown in CLIENT LIST
  int wake_fd = -1;               // readable: stop waiting, throw Interrupted
  std::size_t reply_limit = k_small_reply;

  // Returns the patience that a request has from now on: until `latest` at the most.
  [[nodiscard]] Patience patience(TimePoint latest = TimePoint::max()) const;
};

}  // namespace rlock::redis
