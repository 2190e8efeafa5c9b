#include "explore/keeping.hpp"

#include <algorithm>
#include <set>

namespace rlock::explore {
namespace {

// As the keys have it: of a string that all clients know, the lock without the proof of a hold.
Hold as_hold(const Kept& kept) { return {.writes = kept.writes, .is_outer = true}; }

bool share(const Layout& layout, const Client& client, const Kept& kept) {
  if (is_semaphore(layout.kind)) return layout.permits > 1;
  return layout.kind == Kind::read_write && !client.writes() && !kept.writes;
}

Kept* kept_of(World& world, const std::string& owner, bool writes) {
  for (Kept& kept : world.kept) {
    if (kept.owner == owner && kept.writes == writes) return &kept;
  }
  return nullptr;
}

// Whether it keeps others out.
bool binds(const Kept& kept) { return kept.is_counted && kept.is_sure && kept.left_ms > 0; }

}  // namespace

int counted(const Layout& layout, const World& world, const std::string& owner, const Hold& hold) {
  return layout.count(world.store, owner, hold.writes);
}

void note_kept(const Layout& layout, World& world, const std::string& owner, const Hold& hold,
               std::int64_t keep_ms, int before, bool lasted) {
  if (keep_ms == 0 && kept_of(world, owner, hold.writes) == nullptr) return;
  const bool is_sure = lasted || layout.left(world.store, owner, hold) > 0;
  const bool is_counted = !hold.is_outer && counted(layout, world, owner, hold) == before;
  if (Kept* kept = kept_of(world, owner, hold.writes)) {
    kept->left_ms = std::max(kept->left_ms, keep_ms);
    kept->was_reentered = kept->was_reentered || kept->is_counted;
    kept->is_counted = kept->is_counted || is_counted;
    kept->is_sure = kept->is_sure && is_sure;
    return;
  }
  world.kept.push_back({.owner = owner,
                        .writes = hold.writes,
                        .is_counted = is_counted,
                        .is_sure = is_sure,
                        .left_ms = keep_ms});
  std::sort(world.kept.begin(), world.kept.end());
}

int kept_count(const World& world, const std::string& owner, bool writes, bool is_sure) {
  return static_cast<int>(
      std::count_if(world.kept.begin(), world.kept.end(), [&](const Kept& kept) {
        return kept.is_counted && kept.owner == owner && kept.writes == writes &&
               kept.is_sure == is_sure;
      }));
}

bool is_kept(const World& world, const std::string& owner) {
  return std::any_of(world.kept.begin(), world.kept.end(),
                     [&](const Kept& kept) { return kept.owner == owner && kept.is_counted; });
}

bool may_be_kept(const World& world, const std::string& owner) {
  return std::ranges::any_of(world.kept, [&](const Kept& kept) { return kept.owner == owner; });
}

void check_kept(const Layout& layout, const World& world) {
  for (const Kept& kept : world.kept) {
    if (kept.left_ms <= 0 || !kept.is_sure) continue;
    if (layout.left(world.store, kept.owner, as_hold(kept)) < kept.left_ms)
      throw Violation{"a lock ends before the time for which it is kept"};
  }
}

void check_grant_beside_kept(const Layout& layout, const World& world, const Client& client) {
  for (const Kept& kept : world.kept) {
    const bool is_ours = kept.owner == client.owner;
    if (binds(kept) && !is_ours && !share(layout, client, kept))
      throw Violation{"granted while the lock is kept"};
  }
  if (!is_semaphore(layout.kind)) return;
  std::set<std::string> owners;
  for (const Client& other : world.clients) {
    if (other.owner != client.owner && other.believes()) owners.insert(other.owner);
  }
  for (const Kept& kept : world.kept) {
    if (binds(kept)) owners.insert(kept.owner);
  }
  if (static_cast<int>(owners.size()) >= layout.permits)
    throw Violation{"granted while the last permit is kept"};
}

void check_kept_end(const Layout& layout, const World& world, const std::string& owner) {
  // Another process of the same owner may have re-entered it.
  if (layout.is_family || world.lost_end || world.was_set_back) return;
  std::int64_t last = 0;
  for (const Kept& kept : world.kept) {
    if (kept.owner == owner) last = std::max(last, kept.left_ms);
  }
  for (const Kept& kept : world.kept) {
    // A writer's lasts as long as it was reading, too.
    if (kept.owner == owner && !kept.writes && !kept.was_reentered &&
        layout.left(world.store, owner, as_hold(kept)) > last)
      throw Violation{"a lock is kept for longer than was asked"};
  }
}

void drop_kept(const Layout& layout, World& world) {
  std::erase_if(world.kept, [&](const Kept& kept) {
    return kept.left_ms <= 0 &&
           (!kept.is_counted || layout.count(world.store, kept.owner, kept.writes) == 0);
  });
}

}  // namespace rlock::explore
