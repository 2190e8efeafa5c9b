// What a server refuses to a client: memory, or a right.
#include "explore/moments.hpp"
#include "explore/search.hpp"
#include "explore/world.hpp"

namespace rlock::explore {

using Pending = Client::Pending;

Reply Rules::request(World& world, const Client& client, const Sent& sent, Fate fate) {
  if (fate != Fate::starved && !client.is_poor) return send(world, sent, fate == Fate::lost);
  host_.refuse({fate == Fate::starved, client.is_poor ? layout_.lacks : ""});
  World before = world;
  Reply reply;
  try {
    reply = send(world, sent, fate == Fate::lost);
  } catch (...) {
    host_.refuse({});
    throw;
  }
  host_.refuse({});
  if (reply.type != Reply::Type::error) return reply;
  // A server that is out of memory says so before anything has changed.
  World after = world;
  if (fate == Fate::starved && !client.is_poor && normalise(before) != normalise(after))
    throw Violation{"a request failed for want of memory, and changed something"};
  return reply;
}

void Rules::refused(World& world, Client& client, Pending what, int hold) {
  const bool may_fail =
      client.is_poor || !client.believes() || what == Pending::acquire || what == Pending::reenter;
  if (!may_fail) throw Violation{"a holder needs memory to go on, or to give its lock back"};
  if (!client.is_poor) return await(client, what, hold);  // it asks again, or gives up
  // It gives up, and what it has ends by itself.
  lose_count(world, client);
  end(client, true);
  client.owner.clear();
}

}  // namespace rlock::explore
