// What can happen next in a world.
#include <algorithm>

#include "explore/world.hpp"

namespace rlock::explore {
namespace {

using What = Action::What;
using Phase = Client::Phase;
using Pending = Client::Pending;

}  // namespace

bool keeps(const Client& client) { return !client.is_redisson && !client.is_acquire; }

int faults_of(const Action& action) {
  const bool is_fault = action.fate != Fate::answered || action.what == What::crash ||
                        action.what == What::force || action.what == What::evict ||
                        action.what == What::persist || action.what == What::set_back;
  return (is_fault ? 1 : 0) + (action.keep_ms > 0 ? 1 : 0);
}

// Adds an action of a client, and what else may become of its request.
void Rules::add(const World& world, Action action, std::vector<Action>& all) const {
  const int faults = world.faults - faults_of(action);
  if (faults < 0) return;
  all.push_back(action);
  // Redisson does not promise that a request that is sent again changes nothing.
  if (faults == 0 || world.clients[static_cast<std::size_t>(action.client)].is_redisson) return;
  action.fate = Fate::lost;
  all.push_back(action);
  action.fate = Fate::starved;
  if (layout_.lacks_memory) all.push_back(action);
  if (world.clients[static_cast<std::size_t>(action.client)].is_poor) return;
  action.fate = Fate::late;
  if (!world.flights[static_cast<std::size_t>(action.client)].is_there()) all.push_back(action);
}

void Rules::add_of_client(const World& world, int i, std::vector<Action>& all) const {
  const auto both = [&](const Action& action) { add(world, action, all); };
  const bool has_sides = layout_.kind == Kind::read_write;
  const Client& client = world.clients[static_cast<std::size_t>(i)];
  if (client.phase == Phase::idle) {
    both({.what = What::take, .client = i});
    if (has_sides) both({.what = What::take, .client = i, .writes = true});
    for (const std::string& family : layout_.is_family ? families(world) : Words()) {
      both({.what = What::join, .client = i, .target = family});
      const bool has_writer =
          std::any_of(world.clients.begin(), world.clients.end(),
                      [&](const Client& other) { return other.owner == family && other.writes(); });
      if (has_writer) both({.what = What::join, .client = i, .writes = true, .target = family});
    }
    return;
  }
  if (world.faults > 0) all.push_back({.what = What::crash, .client = i});
  // Whoever gives back another's hold does not know what of it is still under way, see README.md.
  const Flight& flight = world.flights[static_cast<std::size_t>(i)];
  const bool is_clear = !flight.is_there() || flight.what == Pending::release ||
                        flight.what == Pending::renew || flight.hold.id != client.holds[0].id;
  // rlock acquire tells of a hold once it was granted: before that, nobody else can give it back.
  if (client.phase == Phase::holding && client.holds[0].is_known && !client.holds[0].is_unproven &&
      !client.holds[0].is_returned && client.pending != Pending::reenter && is_clear)
    all.push_back({.what = What::unlock, .client = i});
  if (client.pending != Pending::nothing) {
    all.push_back({.what = What::resend, .client = i});
    if (client.pending == Pending::acquire || client.pending == Pending::reenter)
      both({.what = What::give_up, .client = i});
    return;
  }
  if (client.phase == Phase::waiting) {
    both({.what = What::ask, .client = i});
    if (!layout_.is_calm) both({.what = What::give_up, .client = i});
    return;
  }
  if (layout_.is_calm) return both({.what = What::release, .client = i});
  const int last = static_cast<int>(client.holds.size()) - 1;
  const Hold& inner = client.holds.back();
  if (client.left_ms > 0) {
    both({.what = What::renew, .client = i});
    const bool is_other = inner.writes != client.holds[0].writes || inner.is_outer;
    if (last > 0 && is_other) both({.what = What::renew, .client = i, .hold = last});
    if (client.holds.size() < k_most_holds && !layout_.is_family) {
      both({.what = What::reenter, .client = i});
      if (client.writes()) both({.what = What::reenter, .client = i, .writes = true});
    }
  }
  // Redisson only counts.
  for (int hold = last; keeps(client) && hold >= (inner.is_outer ? last : 0); --hold)
    both({.what = What::release,
          .client = i,
          .hold = hold,
          .keep_ms = hold == 0 ? k_keep_ms : k_inner_keep_ms});
  if (inner.is_outer) {  // it only asks
    all.push_back({.what = What::release, .client = i, .hold = last});
    return;
  }
  for (int hold = client.is_redisson ? last : 0; hold <= last; ++hold)
    both({.what = What::release, .client = i, .hold = hold});
}

std::vector<Action> Rules::actions(const World& world) const {
  std::vector<Action> all;
  for (int i = 0; i < static_cast<int>(world.clients.size()); ++i) add_of_client(world, i, all);
  const auto interfere = [&](Action action) {
    if (world.faults == 0) return;
    all.push_back(action);
    action.fate = Fate::late;
    if (!world.flights.back().is_there()) all.push_back(action);
  };
  if (!layout_.holders(world.store).empty()) interfere({.what = What::force});
  if (const Value* queue = find(world.store, k_queue); queue != nullptr) {
    for (const std::string& owner : queue->list) interfere({.what = What::evict, .target = owner});
  }
  // A late one does what one does that is sent then.
  if (world.faults > 0) all.push_back({.what = What::repair});
  if (layout_.loses_ends && world.faults > 0) {
    for (const auto& [name, value] : world.store.keys) {
      if (value.end_ms != 0 && !name.starts_with(k_latch))
        all.push_back({.what = What::persist, .target = name});
    }
  }
  if (layout_.is_set_back && world.faults > 0) all.push_back({.what = What::set_back});
  for (int i = 0; i < static_cast<int>(world.flights.size()); ++i) {
    if (world.flights[static_cast<std::size_t>(i)].is_there())
      all.push_back({.what = What::arrive, .client = i});
  }
  all.push_back({What::pass});
  return all;
}

}  // namespace rlock::explore
