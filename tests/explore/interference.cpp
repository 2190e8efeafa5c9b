// What a person does to a lock: unlock --force, evict, doctor --repair.
#include <algorithm>

#include "explore/moments.hpp"
#include "explore/promises.hpp"
#include "explore/world.hpp"

namespace rlock::explore {
namespace {

bool has_any(const Layout& layout, const Store& store, const Client& client) {
  return std::any_of(client.holds.begin(), client.holds.end(),
                     [&](const Hold& hold) { return layout.has(store, client.owner, hold); });
}

}  // namespace

void Rules::force(World& world, Fate fate) {
  const std::string id = fresh(world, 'f', ".");
  const Sent sent = layout_.force(id, layout_.holders(world.store));
  if (fate == Fate::late) {
    world.flights.back() = {.sent = sent, .left_ms = k_longest_way_ms};
    return;
  }
  forced(world, sent);
  world.store.run({"del", k_latch + id});
  if (!layout_.holders(world.store).empty()) throw Violation{"a broken lock still has holders"};
}

void Rules::forced(World& world, const Sent& sent) {
  std::vector<bool> is_hit;
  for (const Client& client : world.clients)
    is_hit.push_back(has_any(layout_, world.store, client));
  const Reply reply = send(world, sent, true);
  if (reply.items.at(1).text != "broken") return;  // it came late, and others have the lock now
  for (const Kept& kept : world.kept) {
    const std::string name = kept.writes ? kept.owner + ":write" : kept.owner;
    if (kept.is_counted && kept.left_ms > 0 &&
        std::find(sent.args.begin(), sent.args.end(), name) == sent.args.end())
      throw Violation{"a kept lock is broken whose holder was not named"};
  }
  world.kept.clear();
  for (std::size_t i = 0; i < is_hit.size(); ++i) {
    if (!is_hit[i]) continue;
    const bool believed = world.clients[i].believes();  // else its time may be over
    world.clients[i].is_revoked = true;
    const auto names = [&](const std::string& word) {
      return word == world.clients[i].owner || word == world.clients[i].owner + ":write";
    };
    if (believed && std::none_of(sent.args.begin(), sent.args.end(), names))
      throw Violation{"a lock is broken whose holder was not named"};
  }
}

void Rules::evict(World& world, const std::string& owner, Fate fate) {
  const std::string id = fresh(world, 'e', ".");
  const Sent sent = layout_.evict(id, owner);
  if (fate == Fate::late) {
    world.flights.back() = {.sent = sent, .left_ms = k_longest_way_ms};
    return;
  }
  evicted(world, sent);
  world.store.run({"del", k_latch + id});
}

void Rules::evicted(World& world, const Sent& sent) {
  send(world, sent, true);
  for (Client& client : world.clients) {
    if (client.owner == sent.args.at(1)) client.arrival = 0;  // it comes as if for the first time
  }
}

// It counts as a fault only where it has found something: else nothing has happened.
void Rules::repair(World& world) {
  World before = world;
  Words owners;
  for (const Client& client : world.clients) owners.push_back(client.owner);
  const Reply waiters = send(world, Layout::repair_queue(), true);
  const Words published = world.store.published;
  const Reply others = send(world, Layout::repair(owners), true);
  world.store.published.insert(world.store.published.end(), published.begin(), published.end());
  World after = world;
  if (Layout::finds_nothing(waiters) && Layout::finds_nothing(others)) {
    if (normalise(before) != normalise(after))
      throw Violation{"doctor --repair has found nothing, and changed something"};
    return;
  }
  --world.faults;
  check_repaired(layout_, before, world);
}

// As PERSIST does, and some ways to restore a key.
void Rules::persist(World& world, const std::string& key) {
  world.store.keys.at(key).end_ms = 0;
  world.lost_end = true;
}

}  // namespace rlock::explore
