#include "lock/servers/restart.hpp"

#include "lock/servers/failed.hpp"

namespace rlock::lock {

namespace {

bool is_set_to(const redis::Reply& reply, const char* value) {
  return reply.type == redis::Reply::Type::array && reply.items.size() == 2 &&
         reply.items[1].text == value;
}

}  // namespace

void check_restart(redis::Client& client, Milliseconds up, const Terms& terms) {
  const auto replies = client.commands({{"CONFIG", "GET", "appendonly"},
                                        {"CONFIG", "GET", "appendfsync"},
                                        {"CONFIG", "GET", "no-appendfsync-on-rewrite"}});
  // If no-appendfsync-on-rewrite is "yes", even "always" does not wait for the disk while a child
  // of the server saves.
  if (is_set_to(replies[0], "yes") && is_set_to(replies[1], "always") &&
      is_set_to(replies[2], "no")) {
    return;
  }
  throw Restarted(client.options().endpoint.display(), JustStarted{up, *terms.restart_delay});
}

}  // namespace rlock::lock
