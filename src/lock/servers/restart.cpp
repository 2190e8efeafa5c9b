#include "lock/servers/restart.hpp"

#include <algorithm>

#include "base/duration.hpp"

namespace rlock::lock {

namespace {

bool is_set_to(const redis::Reply& reply, const char* value) {
  return reply.type == redis::Reply::Type::array && reply.items.size() == 2 &&
         reply.items[1].text == value;
}

// Servers report whole seconds.
Milliseconds left_of(Milliseconds up, Milliseconds delay) {
  return std::max(delay - up, Milliseconds(1000));
}

}  // namespace

std::string describe_restart(Milliseconds delay) {
  return "may have started within the last " + format_duration(delay) +
         " and may have forgotten a lock";
}

JustStarted::JustStarted(const std::string& server, Milliseconds up, Milliseconds delay)
    : Restarted(server + ": " + describe_restart(delay) + ": no vote for another " +
                format_duration(left_of(up, delay))),
      server_(server),
      delay_(delay),
      left_(left_of(up, delay)) {}

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
  throw JustStarted(client.options().endpoint.display(), up, *terms.restart_delay);
}

}  // namespace rlock::lock
