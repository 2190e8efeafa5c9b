// What holds of a lock that its release keeps for a while (--at-least), and how long it does.
#pragma once

#include "explore/layout.hpp"
#include "explore/search.hpp"
#include "explore/world.hpp"

namespace rlock::explore {

// How many holds the keys count for this one's owner, on its side.
[[nodiscard]] int counted(const Layout& layout, const World& world, const std::string& owner,
                          const Hold& hold);

// A release of a hold that was there was carried out, and keeps the lock for so long (0: no longer
// than others have). `before`: what was counted then; `lasted`: whether its lease was not over.
void note_kept(const Layout& layout, World& world, const std::string& owner, const Hold& hold,
               std::int64_t keep_ms, int before, bool lasted);

// How many holds the keys count beside those of clients: a lock that is kept has its last one,
// surely or if it did not end in the very millisecond.
[[nodiscard]] int kept_count(const World& world, const std::string& owner, bool writes,
                             bool is_sure);
// Whether a lock is kept after its last release. A renewal that comes late may prolong it.
[[nodiscard]] bool is_kept(const World& world, const std::string& owner);

// Whether anybody has asked to keep the lock of this owner.
[[nodiscard]] bool may_be_kept(const World& world, const std::string& owner);

// What holds in every world: nobody has a kept lock, and it does not end too early.
void check_kept(const Layout& layout, const World& world);
// What holds at each grant.
void check_grant_beside_kept(const Layout& layout, const World& world, const Client& client);
// What holds after the last release of an owner whose lock is kept.
void check_kept_end(const Layout& layout, const World& world, const std::string& owner);

// Forgets what is not there any more.
void drop_kept(const Layout& layout, World& world);

}  // namespace rlock::explore
