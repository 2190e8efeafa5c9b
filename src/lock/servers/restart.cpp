#include "lock/servers/restart.hpp"

namespace rlock::lock {
namespace {

bool is_set_to(const redis::Reply& reply, const char* value) {
  return reply.type == redis::Reply::Type::array && reply.items.size() == 2 &&
         reply.items[1].text == value;
}

}  // namespace

bool forgets_nothing(redis::Client& client) {
  const auto replies = client.commands({{"CONFIG", "GET", "appendonly"},
                                        {"CONFIG", "GET", "appendfsync"},
                                        {"CONFIG", "GET", "no-appendfsync-on-rewrite"}});
  // With "yes" there, not even "always" waits for the disk while a child of the server saves.
  return is_set_to(replies[0], "yes") && is_set_to(replies[1], "always") &&
         is_set_to(replies[2], "no");
}

}  // namespace rlock::lock
