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
  Milliseconds timeout{3000};     // for connecting and one request together
  const char* timeout_from = "";  // as Patience::from
  std::string name = "rlock";     // shown in CLIENT LIST
  int wake_fd = -1;               // if readable: stop waiting, throw Interrupted
  std::size_t reply_limit = k_small_reply;

  // Returns the patience of a request that starts now. It ends at `latest` at the latest.
  [[nodiscard]] Patience patience(TimePoint latest = TimePoint::max()) const;
};

}  // namespace rlock::redis
