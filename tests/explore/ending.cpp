#include "explore/ending.hpp"

#include <algorithm>
#include <optional>

#include "explore/moments.hpp"
#include "explore/promises.hpp"

namespace rlock::explore {
namespace {

using What = Action::What;
using Phase = Client::Phase;
using Pending = Client::Pending;

constexpr int k_most_steps = 300;

// How this client goes on to its end.
Action next_of(const World& world, int index, bool crashes, bool keeps) {
  const Client& client = world.clients[static_cast<std::size_t>(index)];
  if (crashes) return {.what = What::crash, .client = index};
  if (client.pending == Pending::acquire) return {.what = What::give_up, .client = index};
  if (client.pending != Pending::nothing) return {.what = What::resend, .client = index};
  if (client.phase == Phase::waiting) return {.what = What::give_up, .client = index};
  // The inner hold goes first.
  return {.what = What::release,
          .client = index,
          .hold = static_cast<int>(client.holds.size()) - 1,
          .keep_ms = keeps && explore::keeps(client) ? k_keep_ms : 0};
}

bool can_change(const World& world) {
  const auto& keys = world.store.keys;
  // Redisson's waiters leave the queue by their deadlines.
  const Value* scores = find(world.store, k_scores);
  if (scores != nullptr && !scores->zset.empty() &&
      scores->zset.back().first > static_cast<double>(k_now_ms))
    return true;
  return std::any_of(keys.begin(), keys.end(),
                     [](const auto& key) { return key.second.end_ms != 0; }) ||
         std::any_of(world.flights.begin(), world.flights.end(),
                     [](const Flight& flight) { return flight.is_there(); });
}

void check_left(const Layout& layout, const World& world, bool after_new_client) {
  for (const auto& [name, value] : world.store.keys) {
    if (name == k_token) continue;
    if (layout.kind == Kind::service) {
      // Permits whose time is over are in the set until somebody asks for one.
      if (name == k_permits && !after_new_client) continue;
      if (name == k_lock && (!after_new_client || value.text == std::to_string(layout.permits)))
        continue;
    }
    // Waiters that look like those of another library, until somebody asks.
    if (world.looked_foreign && !after_new_client && (name == k_queue || name == k_scores))
      continue;
    throw Violation{"at the end there is still " + name};
  }
}

}  // namespace

void play_to_end(Rules& rules, const Layout& layout, World world, std::uint64_t choice,
                 const std::function<void(const std::string&)>& told) {
  world.faults = k_most_steps;
  const auto apply = [&](const Action& action) {
    told(rules.apply(world, action));
    normalise(world);
  };
  const auto chance = [&](std::uint64_t of) {
    choice = choice * 6364136223846793005ULL + 1442695040888963407ULL;
    return (choice >> 33) % of == 0;
  };
  for (int step = 0; can_change(world) || step == 0; ++step) {
    if (step == k_most_steps) throw Violation{"it has no end"};
    for (int i = 0; i < static_cast<int>(world.flights.size()); ++i) {
      if (world.flights[static_cast<std::size_t>(i)].is_there() && chance(3))
        apply({.what = What::arrive, .client = i});
    }
    for (int i = 0; i < static_cast<int>(world.clients.size()); ++i) {
      while (world.clients[static_cast<std::size_t>(i)].phase != Phase::idle)
        apply(next_of(world, i, chance(4), chance(4)));
    }
    if (chance(4)) apply({.what = What::repair});
    apply({.what = What::pass});
  }
  if (world.lost_end) return;  // it may stay until somebody breaks it
  check_left(layout, world, false);
  apply({.what = What::take, .client = 0});
  if (world.clients[0].phase != Phase::holding)
    throw Violation{"at the end a new client does not get the lock"};
  apply({.what = What::release, .client = 0});
  while (can_change(world)) apply({.what = What::pass});
  check_left(layout, world, true);
}

}  // namespace rlock::explore
