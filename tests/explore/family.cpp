// Several processes of one owner: nested runs, and holds that more than one process knows of.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "explore/keeping.hpp"
#include "explore/moments.hpp"
#include "explore/promises.hpp"
#include "explore/world.hpp"

namespace rlock::explore {
namespace {

using Phase = Client::Phase;

// Whether the side key tells that this hold has ended: so the other process learns of it.
bool is_noted(const Store& store, const std::string& field, const std::string& hold) {
  const Value* info = find(store, k_info);
  if (info == nullptr || info->hash.count(field) == 0) return false;
  const auto about = nlohmann::json::parse(info->hash.at(field));
  const auto ended = about.value("ended", nlohmann::json::array());
  // The latch's last part is what counts, see lua/include/releasing.lua.
  return std::find(ended.begin(), ended.end(), hold) != ended.end();
}

}  // namespace

bool are_kin(const Layout& layout, const Client& one, const Client& other) {
  return layout.is_family && one.owner == other.owner;
}

bool is_alone(const Layout& layout, const World& world, const Client& client) {
  return is_sure_of(world, client.owner) &&
         std::none_of(world.clients.begin(), world.clients.end(), [&](const Client& other) {
           return &other != &client && are_kin(layout, other, client);
         });
}

bool is_sure_of(const World& world, const std::string& owner) {
  return std::find(world.unsure.begin(), world.unsure.end(), owner) == world.unsure.end();
}

std::vector<std::string> families(const World& world) {
  std::vector<std::string> found;
  for (const Client& client : world.clients) {
    if (client.believes()) found.push_back(client.owner);
  }
  for (const Kept& kept : world.kept) {  // a process that the run left behind
    if (kept.is_counted && kept.left_ms > 0) found.push_back(kept.owner);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void Rules::join(World& world, Client& client, const std::string& family, bool writes, Fate fate) {
  client.owner = family;
  client.phase = Phase::holding;
  client.holds = {{.id = fresh(world, 'h', "."),
                   .writes = writes,
                   .is_reentered = true,
                   .is_unproven = true,
                   .is_known = client.is_acquire}};
  reenter(world, client, 0, fate);
}

// Another process gives the hold back that this client keeps.
void Rules::unlock(World& world, Client& client) {
  Hold hold = client.holds.at(0);
  hold.is_unproven = false;
  const bool had_it = layout_.has(world.store, client.owner, hold);
  const int before = counted(layout_, world, client.owner, hold);
  const bool lasted = layout_.left(world.store, client.owner, hold) > 0;
  const Reply reply = send(world, layout_.release(client.owner, hold, 0), true);
  const bool is_done = reply.items.at(0).integer != 2;  // there was something to give back
  if (had_it && is_done && !hold.is_returned)
    note_kept(layout_, world, client.owner, hold, 0, before, lasted);
  give_back(world, client, hold);
  client.holds[0].is_returned = true;
  client.is_revoked = true;
  revoke_nested(world, {.sent = {}, .owner = client.owner, .hold = hold});
  world.store.run({"del", k_latch + hold.id});
  if (had_it && reply.items.at(0).integer == 1) check_woken(layout_, world, client);
  const bool is_over = counted(layout_, world, client.owner, hold) == 0;
  if (!is_over && !hold.is_outer && !is_noted(world.store, client.owner, hold.id) &&
      !is_noted(world.store, client.owner + ":write", hold.id))
    throw Violation{"nothing tells that a hold has ended"};
}

// A string is the outer hold's: with it, those that are nested in it lose the lock.
void Rules::revoke_nested(World& world, const Flight& release) const {
  if (!layout_.is_family || layout_.kind != Kind::simple || release.hold.is_outer) return;
  for (Client& client : world.clients) {
    if (client.owner != release.owner || client.holds[0].id == release.hold.id) continue;
    client.is_revoked = true;
  }
}

// A process has crashed: whether its hold is there depends on what was under way.
void Rules::lose_count(World& world, const Client& client) const {
  if (client.owner.empty() || !is_sure_of(world, client.owner)) return;
  world.unsure.push_back(client.owner);
  std::sort(world.unsure.begin(), world.unsure.end());
}

void Rules::forget_families(World& world) const {
  drop_kept(layout_, world);
  std::erase_if(world.unsure, [&](const std::string& owner) {
    const auto is_owners = [&](const auto& one) { return one.owner == owner; };
    return std::none_of(world.clients.begin(), world.clients.end(), is_owners) &&
           std::none_of(world.flights.begin(), world.flights.end(), is_owners) &&
           layout_.count(world.store, owner, false) == 0 &&
           layout_.count(world.store, owner, true) == 0;
  });
}

}  // namespace rlock::explore
